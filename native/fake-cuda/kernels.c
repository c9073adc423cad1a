// Our kernels, by their names and parameter blocks (src/memory/gpu-params.ts): unpack, gather,
// scatter, fill and verify on the CPU. Launches go directly or through a graph of one kernel.

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "fake-cuda.h"

enum { CHUNKS = 16, FEW = 144, LENGTH_BITS = 13, KERNELS = 7 };

struct entry { uint32_t source, bytes; uint64_t target; };
struct chunk { uint64_t entries, source, target; uint32_t before, reserved; };
struct unpack {
  struct chunk chunks[CHUNKS];
  uint32_t total, per_block, parts, part_bytes, sequence, reserved;
  uint64_t tally, outcome;
};
// Target offset above the length in one word.
struct packed { uint32_t source, rest; };
struct unpack_few {
  struct packed entries[FEW];
  uint64_t source, target;
  uint32_t total, per_block, parts, part_bytes, sequence, reserved;
  uint64_t tally, outcome;
};
struct block { uint64_t offset; uint32_t staging, bytes; };
struct blocks {
  uint64_t entries, base, staging;
  uint32_t count, parts, part_bytes, sequence;
  uint64_t tally, outcome;
};
struct span { uint64_t addr, bytes, position; uint32_t seed, sequence; uint64_t tally, outcome; };
struct outcome { _Atomic uint32_t sequence; uint32_t reserved; uint64_t sum, first; };

_Static_assert(sizeof(struct unpack) == 552, "as in src/memory/gpu-params.ts");
_Static_assert(sizeof(struct unpack_few) == PARAMETERS_MAX, "as in src/memory/gpu-params.ts");
_Static_assert(sizeof(struct blocks) == 56, "as in src/memory/gpu-params.ts");
_Static_assert(sizeof(struct span) == 48, "as in src/memory/gpu-params.ts");

enum { UNPACK = 1, UNPACK_FEW, GATHER, SCATTER, FILL, VERIFY, CHECKSUM };
static const struct { const char *name; size_t bytes; } kernels[KERNELS + 1] = {
    [UNPACK] = {"tcpx_unpack", sizeof(struct unpack)},
    [UNPACK_FEW] = {"tcpx_unpack_few", sizeof(struct unpack_few)},
    [GATHER] = {"tcpx_gather", sizeof(struct blocks)},
    [SCATTER] = {"tcpx_scatter", sizeof(struct blocks)},
    [FILL] = {"tcpx_fill", sizeof(struct span)},
    [VERIFY] = {"tcpx_verify", sizeof(struct span)},
    [CHECKSUM] = {"tcpx_checksum", sizeof(struct span)},
};

uint32_t kernel_number(const char *name) {
  for (uint32_t i = 1; i <= KERNELS; i++) {
    if (strcmp(kernels[i].name, name) == 0) return i;
  }
  return 0;
}

size_t kernel_parameter_bytes(uint32_t kernel) { return kernels[kernel].bytes; }

static bool publish(uint64_t address, uint32_t sequence) {
  struct outcome *outcome = (struct outcome *)(void *)reach(address, sizeof *outcome);
  if (outcome == NULL) return false;
  atomic_store_explicit(&outcome->sequence, sequence, memory_order_release);
  return true;
}

static bool copy(uint64_t target, uint64_t source, size_t bytes) {
  const uint8_t *from = reach(source, bytes);
  uint8_t *to = reach(target, bytes);
  return from != NULL && to != NULL && memcpy(to, from, bytes) != NULL;
}

static bool unpack(const struct unpack *params) {
  for (uint32_t index = 0; index < params->total; index++) {
    int row = 0;
    for (int other = 1; other < CHUNKS; other++) {
      if (index >= params->chunks[other].before) row = other;
    }
    const struct chunk *chunk = &params->chunks[row];
    uint64_t at = chunk->entries + (uint64_t)(index - chunk->before) * sizeof(struct entry);
    const struct entry *entry = (const struct entry *)(void *)reach(at, sizeof *entry);
    if (entry == NULL) return false;
    if (!copy(chunk->target + entry->target, chunk->source + entry->source, entry->bytes)) {
      return false;
    }
  }
  return publish(params->outcome, params->sequence);
}

static bool unpack_few(const struct unpack_few *params) {
  for (uint32_t index = 0; index < params->total; index++) {
    const struct packed *entry = &params->entries[index];
    uint64_t target = params->target + (entry->rest >> LENGTH_BITS);
    uint32_t bytes = entry->rest & ((1u << LENGTH_BITS) - 1);
    if (!copy(target, params->source + entry->source, bytes)) return false;
  }
  return publish(params->outcome, params->sequence);
}

static bool copy_blocks(const struct blocks *params, bool is_gather) {
  for (uint32_t index = 0; index < params->count; index++) {
    uint64_t at = params->entries + (uint64_t)index * sizeof(struct block);
    const struct block *block = (const struct block *)(void *)reach(at, sizeof *block);
    if (block == NULL) return false;
    uint64_t outer = params->base + block->offset, staged = params->staging + block->staging;
    if (!copy(is_gather ? staged : outer, is_gather ? outer : staged, block->bytes)) return false;
  }
  return publish(params->outcome, params->sequence);
}

static uint32_t pattern_part(uint32_t seed, uint64_t index) {
  uint32_t value = ((uint32_t)index ^ seed) * 0x9e3779b1u;
  value ^= (uint32_t)(index >> 32) * 0x85ebca77u;
  value ^= value >> 16;
  value *= 0x21f0aaadu;
  return value ^ value >> 15;
}

static bool fill_or_verify(const struct span *span, bool is_fill) {
  struct outcome *outcome = (struct outcome *)(void *)reach(span->outcome, sizeof *outcome);
  uint8_t *bytes = reach(span->addr, span->bytes);
  if (outcome == NULL || bytes == NULL) return false;
  uint64_t differing = 0, first = UINT64_MAX;
  for (uint64_t i = 0; i < span->bytes; i++) {
    uint64_t position = span->position + i;
    uint8_t wanted = (uint8_t)(pattern_part(span->seed, position >> 2) >> (position % 4 * 8));
    if (is_fill) bytes[i] = wanted;
    else if (bytes[i] != wanted && differing++ == 0) first = i;
  }
  if (!is_fill) {
    outcome->sum = differing;
    outcome->first = first;
  }
  return publish(span->outcome, span->sequence);
}

bool run_kernel(uint32_t kernel, const uint8_t *parameters) {
  switch (kernel) {
    case UNPACK: return unpack((const void *)parameters);
    case UNPACK_FEW: return unpack_few((const void *)parameters);
    case GATHER: return copy_blocks((const void *)parameters, true);
    case SCATTER: return copy_blocks((const void *)parameters, false);
    case FILL: return fill_or_verify((const void *)parameters, true);
    case VERIFY: return fill_or_verify((const void *)parameters, false);
    default: return false;  // not needed by any test without a GPU
  }
}

int cuModuleLoadData(uint64_t *module, const char *text) {
  return *module = 1, strstr(text, ".version") != NULL ? OK : INVALID_VALUE;
}
int cuModuleUnload(uint64_t module) { return module == 1 ? OK : INVALID_VALUE; }
int cuModuleGetFunction(uint64_t *function, uint64_t module, const char *name) {
  *function = kernel_number(name);
  return module == 1 && *function != 0 ? OK : INVALID_VALUE;
}

static int launch(uint64_t function, void **parameters, struct stream *stream) {
  if (function == 0 || function > KERNELS) return INVALID_VALUE;
  struct op op = {.kind = OP_LAUNCH, .value = (uint32_t)function};
  memcpy(op.parameters, parameters[0], kernels[function].bytes);
  return submit(stream, &op);
}

int cuLaunchKernel(uint64_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   struct stream *stream, void **parameters, void **extra) {
  bool is_good = grid_x > 0 && grid_y == 1 && grid_z == 1 && block_x == 256 && block_y == 1 &&
                 block_z == 1 && shared == 0 && extra == NULL;
  return is_good ? launch(function, parameters, stream) : INVALID_VALUE;
}

struct node { uint64_t function; unsigned grid[3], block[3]; uint32_t shared, pad; void **parameters; };
struct graph { uint64_t function; uint8_t parameters[PARAMETERS_MAX]; };

static int set_node(struct graph *graph, const struct node *node) {
  if (node->function == 0 || node->function > KERNELS) return INVALID_VALUE;
  graph->function = node->function;
  memcpy(graph->parameters, node->parameters[0], kernels[node->function].bytes);
  return OK;
}

int cuGraphCreate(struct graph **graph, unsigned flags) {
  return *graph = calloc(1, sizeof **graph), flags == 0 ? OK : INVALID_VALUE;
}
int cuGraphAddKernelNode(void **added, struct graph *graph, void *after, size_t count,
                         const struct node *node) {
  *added = graph;
  return after == NULL && count == 0 ? set_node(graph, node) : INVALID_VALUE;
}
int cuGraphInstantiateWithFlags(struct graph **exec, struct graph *graph, uint64_t flags) {
  *exec = malloc(sizeof **exec);
  **exec = *graph;
  return flags == 0 ? OK : INVALID_VALUE;
}
int cuGraphExecKernelNodeSetParams(struct graph *exec, void *node, const struct node *params) {
  return node == NULL ? INVALID_VALUE : set_node(exec, params);
}
int cuGraphLaunch(struct graph *exec, struct stream *stream) {
  void *parameters = exec->parameters;
  return launch(exec->function, &parameters, stream);
}
int cuGraphExecDestroy(struct graph *exec) { return free(exec), OK; }
int cuGraphDestroy(struct graph *graph) { return free(graph), OK; }
