// What the agent examples print.

export const AGENT_EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  'two-peers': ['4096 bytes read from target', 'target was told: read'],
  'expanded-two-peers': [
    'round 1: buffers now hold 13 12 11 10',
    'round 2: buffers now hold 23 22 21 20',
    'round 3: buffers now hold 33 32 31 30',
    'target says: thank you',
    'released: true',
  ],
  'partial-metadata': [
    'connection alone: open false, hidden false',
    'first buffer: open true, hidden false',
    'read 1 from the open buffer',
    'second buffer: open true, hidden true',
  ],
  'kv-blocks': [
    ...[0, 1, 2, 3, 4, 5, 6, 7].map((layer) => `layer ${layer} complete`),
    '1600 blocks of 16384 bytes',
  ],
  'many-initiators': ['6 initiators, 393216 bytes in place'],
};
