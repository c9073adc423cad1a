// How often a process called, by kind: at its end a line of JSON is added to the file that
// FAKE_CUDA_COUNTS names. What a driver call costs on a GPU is not here to be measured.

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "fake-cuda.h"

static const char *const NAMES[COUNT_KINDS] = {"copiesIn", "copiesOut", "fills", "waits", "visits"};
static _Atomic uint64_t counts[COUNT_KINDS];

void count_call(enum count_kind kind) { atomic_fetch_add(&counts[kind], 1); }

__attribute__((destructor)) static void write_counts(void) {
  const char *path = getenv("FAKE_CUDA_COUNTS");
  FILE *file = path == NULL ? NULL : fopen(path, "a");
  if (file == NULL) return;
  for (int kind = 0; kind < COUNT_KINDS; kind++) {
    fprintf(file, "%s\"%s\":%llu", kind == 0 ? "{" : ",", NAMES[kind],
            (unsigned long long)counts[kind]);
  }
  fprintf(file, "}\n");
  fclose(file);
}
