// Functions of a library that is opened at run time, by name into their slots.
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

struct symbol {
  void *slot;  // of a function pointer
  const char *name;
};

#define LOAD_SYMBOLS(library, symbols) \
  load_symbols(library, symbols, sizeof(symbols) / sizeof((symbols)[0]))

// The first name that the library does not have, NULL when all slots are filled.
static inline const char *load_symbols(void *library, const struct symbol *symbols, size_t count) {
  for (size_t i = 0; i < count; i++) {
    void *symbol = library == NULL ? NULL : dlsym(library, symbols[i].name);
    if (symbol == NULL) return symbols[i].name;
    memcpy(symbols[i].slot, &symbol, sizeof symbol);
  }
  return NULL;
}

#endif
