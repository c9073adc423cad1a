// A stand-in for libcuda, for tests of the GPU path on hosts without one. Device addresses are
// reserved but not accessible, so that code which touches device memory with the CPU crashes here
// as it would on a GPU; copies go through a second mapping of the same pages. Work on streams is
// done by a thread, late. One device; memory can be shared with other processes as on a GPU.

#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  OK = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  INVALID_CONTEXT = 201,
  NOT_READY = 600,
  ILLEGAL_ADDRESS = 700,
  NOT_SUPPORTED = 801
};

// A parameter block of the largest kernel.
enum { PARAMETERS_MAX = 1208 };

enum op_kind { OP_COPY, OP_FILL, OP_WORD, OP_LAUNCH, OP_NOTHING };

struct op {
  enum op_kind kind;
  uint64_t target, source;
  size_t bytes;
  uint32_t value;
  uint8_t parameters[PARAMETERS_MAX];
};

struct stream { uint64_t last; };

enum count_kind { COUNT_IN, COUNT_OUT, COUNT_FILL, COUNT_WAIT, COUNT_VISIT, COUNT_KINDS };
void count_call(enum count_kind kind);

bool has_context(void);

// Where the CPU reaches an address: the second mapping of device memory, host memory as it is.
// NULL for device addresses that nothing is mapped at, or that reach beyond it.
uint8_t *reach(uint64_t address, size_t bytes);

// A copy of the operation becomes the last of the stream.
int submit(struct stream *stream, const struct op *op);
int finish_all(void);

// Runs a kernel by its number; false when it reaches where nothing is.
bool run_kernel(uint32_t kernel, const uint8_t *parameters);
uint32_t kernel_number(const char *name);
size_t kernel_parameter_bytes(uint32_t kernel);

#endif
