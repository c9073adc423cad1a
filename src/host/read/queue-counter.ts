// Driver statistics of one queue, under the many forms that drivers give their names. Pure.

export interface QueueCounter {
  readonly direction: 'rx' | 'tx';
  readonly queue: number;
}

export interface QueueStatistic extends QueueCounter {
  /** What is counted, without direction and number: `bytes`, `dropped_pkt`. */
  readonly what: string;
}

const PATTERNS: readonly RegExp[] = [
  /^(?<direction>rx|tx)_(?<what>\w+)\[(?<queue>\d+)\]$/, // gve
  /^(?<direction>rx|tx)_queue_(?<queue>\d+)_(?<what>\w+)$/, // virtio_net before 6.x, veth
  /^queue_(?<queue>\d+)_(?<direction>rx|tx)_(?<what>\w+)$/, // ena
  /^(?<direction>rx|tx)(?<queue>\d+)_(?<what>\w+)$/, // mlx5
  /^(?<direction>rx|tx)-(?<queue>\d+)\.(?<what>\w+)$/, // i40e, iavf
  /^(?<direction>rx|tx)-?q?(?<queue>\d+)[-_.](?<what>\w+)$/, // others
];

/** The queue that a statistic belongs to; undefined when it is of the whole device. */
export function parseQueueStatistic(name: string): QueueStatistic | undefined {
  for (const pattern of PATTERNS) {
    const groups = pattern.exec(name)?.groups;
    if (groups === undefined) continue;
    const direction = groups['direction'] === 'tx' ? 'tx' : 'rx';
    return { direction, queue: Number(groups['queue']), what: groups['what'] ?? '' };
  }
  return undefined;
}

/** The queue that a statistic counts bytes of; undefined when it counts something else. */
export function parseQueueCounter(name: string): QueueCounter | undefined {
  const parsed = parseQueueStatistic(name);
  if (parsed?.what !== 'bytes') return undefined;
  return { direction: parsed.direction, queue: parsed.queue };
}

/** Packets that were thrown away, whatever the driver calls it. */
export function isDropName(name: string): boolean {
  return /drop|discard|missed|no_buffers|alloc_fail/.test(name);
}
