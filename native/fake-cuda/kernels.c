// Our kernels, by their names and parameter blocks (src/memory/gpu-params.ts): unpack, fill and
// verify on the CPU. Launches go directly or through a graph of one kernel.

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "fake-cuda.h"

enum { CHUNKS = 16, FEW = 144, KERNELS = 7 };

struct entry { uint32_t source, bytes; uint64_t target; };
struct chunk { uint64_t entries, source, target; uint32_t before, reserved; };
struct unpack {
  struct chunk chunks[CHUNKS];
  uint32_t total, per_block, parts, part_bytes, sequence, reserved;
  uint64_t tally, outcome;
};
struct unpack_few {
  struct entry entries[FEW];
  struct unpack rest;
};
struct span { uint64_t addr, bytes, position; uint32_t seed, sequence; uint64_t tally, outcome; };
struct outcome { _Atomic uint32_t sequence; uint32_t reserved; uint64_t sum, first; };

_Static_assert(sizeof(struct unpack) == 552, "as in src/memory/gpu-params.ts");
_Static_assert(sizeof(struct unpack_few) == PARAMETERS_MAX, "as in src/memory/gpu-params.ts");
_Static_assert(sizeof(struct span) == 48, "as in src/memory/gpu-params.ts");

enum { UNPACK = 1, UNPACK_FEW, GATHER, SCATTER, FILL, VERIFY, CHECKSUM };
static const struct { const char *name; size_t bytes; } kernels[KERNELS + 1] = {
    [UNPACK] = {"tcpx_unpack", sizeof(struct unpack)},
    [UNPACK_FEW] = {"tcpx_unpack_few", sizeof(struct unpack_few)},
    [GATHER] = {"tcpx_gather", 56},
    [SCATTER] = {"tcpx_scatter", 56},
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

// `few`: the entries of all chunks, or NULL where each chunk's list says where they are.
static bool unpack(const struct unpack *params, const struct entry *few) {
  for (uint32_t index = 0; index < params->total; index++) {
    int row = 0;
    for (int other = 1; other < CHUNKS; other++) {
      if (index >= params->chunks[other].before) row = other;
    }
    const struct chunk *chunk = &params->chunks[row];
    uint64_t at = chunk->entries + (uint64_t)(index - chunk->before) * sizeof(struct entry);
    const struct entry *entry =
        few != NULL ? &few[index] : (const struct entry *)(void *)reach(at, sizeof *entry);
    if (entry == NULL) return false;
    if (!copy(chunk->target + entry->target, chunk->source + entry->source, entry->bytes)) {
      return false;
    }
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
    case UNPACK: return unpack((const void *)parameters, NULL);
    case UNPACK_FEW: {
      const struct unpack_few *few = (const void *)parameters;
      return unpack(&few->rest, few->entries);
    }
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
