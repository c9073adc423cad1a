// Bytes per queue under the many names that drivers give them.

export interface QueueCounter {
  readonly direction: 'rx' | 'tx';
  readonly queue: number;
}

const PATTERNS: readonly RegExp[] = [
  /^(?<direction>rx|tx)_bytes\[(?<queue>\d+)\]$/, // gve
  /^(?<direction>rx|tx)_queue_(?<queue>\d+)_bytes$/, // virtio_net before 6.x, veth
  /^queue_(?<queue>\d+)_(?<direction>rx|tx)_bytes$/, // ena
  /^(?<direction>rx|tx)(?<queue>\d+)_bytes$/, // mlx5
  /^(?<direction>rx|tx)-(?<queue>\d+)\.bytes$/, // i40e, iavf
  /^(?<direction>rx|tx)-?q?(?<queue>\d+)[-_.]bytes$/, // others
];

/** The queue that a statistic counts bytes of; undefined when it counts something else. */
export function parseQueueCounter(name: string): QueueCounter | undefined {
  for (const pattern of PATTERNS) {
    const groups = pattern.exec(name)?.groups;
    if (groups === undefined) continue;
    return {
      direction: groups['direction'] === 'tx' ? 'tx' : 'rx',
      queue: Number(groups['queue']),
    };
  }
  return undefined;
}
