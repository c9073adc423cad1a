// Settings in which the pairs of a mesh must not differ: figures could not be held against each
// other. The provider too, which a printed client line names in words of its own.

export const ALIKE = [
  'bench.op',
  'bench.sizeBytes',
  'bench.blockBytes',
  'bench.batch',
  'bench.iterations',
  'bench.seconds',
  'bench.memory',
  'bench.verify',
  'flow.channels',
  'tcpx.sockets',
] as const;
