// Byte offsets of the kernels' parameter structures and of what they share with the host. The same
// as in kernels/*.cu, where sizes are asserted at compile time and here by a test.

/** struct UnpackFewParams: packed entries of one chunk (source; target and length), the fields. */
export const FewLayout = {
  entryBytes: 8,
  source: 1152,
  target: 1160,
  total: 1168,
  perBlock: 1172,
  parts: 1176,
  partBytes: 1180,
  sequence: 1184,
  tally: 1192,
  outcome: 1200,
  bytes: 1208,
} as const;

/** struct UnpackParams: 16 chunk rows, then the fields. */
export const UnpackLayout = {
  chunkBytes: 32,
  chunkEntries: 0,
  chunkSource: 8,
  chunkTarget: 16,
  chunkBefore: 24,
  total: 512,
  perBlock: 516,
  parts: 520,
  partBytes: 524,
  sequence: 528,
  tally: 536,
  outcome: 544,
  bytes: 552,
} as const;

/** struct BlocksParams: gather and scatter. */
export const BlocksLayout = {
  entries: 0,
  base: 8,
  staging: 16,
  count: 24,
  parts: 28,
  partBytes: 32,
  sequence: 36,
  tally: 40,
  outcome: 48,
  bytes: 56,
} as const;

/** struct SpanParams: fill, verify and checksum. */
export const SpanLayout = {
  addr: 0,
  spanBytes: 8,
  position: 16,
  seed: 24,
  sequence: 28,
  tally: 32,
  outcome: 40,
  bytes: 48,
} as const;

/** struct Tally, device memory that rests at zero. */
export const TALLY_BYTES = 24;

/** struct Outcome, mapped host memory. */
export const OutcomeLayout = { sequence: 0, sum: 8, firstIndex: 16, bytes: 24 } as const;

/** As __launch_bounds__ in kernels/device-copy.cuh. */
export const BLOCK_THREADS = 256;
export const WARPS_PER_BLOCK = BLOCK_THREADS / 32;
export const BLOCKS_PER_PROCESSOR = 4;
