// The unpack kernel's twin for the processor: copies the fragments of one message out of the bounce
// buffer. The list was checked before; the entry is that of the plugin's unpack queue.

#include <stdint.h>
#include <string.h>

struct entry {
  uint32_t source_offset;
  uint32_t length;
  uint64_t target_offset;
};
_Static_assert(sizeof(struct entry) == 16, "entry has 16 bytes");

__attribute__((visibility("default"))) void tcpx_unpack(const struct entry *entries, uint32_t count,
                                                        const uint8_t *bounce, uint8_t *target) {
  for (uint32_t i = 0; i < count; i++) {
    const struct entry *entry = &entries[i];
    memcpy(target + entry->target_offset, bounce + entry->source_offset, entry->length);
  }
}
