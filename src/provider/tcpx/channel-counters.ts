// The counters of one direction of a channel, and what they say about a stall. Pure.

import {
  COUNTER_BOUNCE_BYTES,
  COUNTER_BYTES,
  COUNTER_CONSUMED,
  COUNTER_DONE,
  COUNTER_FRAGMENTS,
  COUNTER_HEAD_BYTES,
  COUNTER_HEAD_CHUNK,
  COUNTER_HEAD_OFFSET,
  COUNTER_HEAD_TAG,
  COUNTER_HEAD_TRANSFER,
  COUNTER_HIGH_WATER,
  COUNTER_POSTED,
  COUNTER_RING_CHUNKS,
  COUNTER_UNPACKED,
  COUNTER_WINDOW_BYTES,
} from './host-layout.js';

/** What one direction of a plugin's channel has counted since it was made. */
export interface ChannelCounters {
  /** Chunks handed to the plugin. */
  readonly posted: number;
  /** Of them: those that the plugin has called done. */
  readonly done: number;
  /** Receives: those copied to their place. */
  readonly unpacked: number;
  /** Receives: those given back to the plugin. */
  readonly consumed: number;
  /** The most that were in flight at once. */
  readonly highWater: number;
  /** Bytes of all that are done. */
  readonly bytes: number;
  /** Receives: pieces that the NIC delivered them in. */
  readonly fragments: number;
  /** Sends that were copied into the ring; the others went from their region. */
  readonly ringChunks: number;
  /** Why the ring, where the plugin refused to register a region; else empty. */
  readonly sendFallback: string;
  /** Receives: size of the bounce buffer that the NIC's channels share; 0 where it is not known. */
  readonly bounceBytes: number;
  /** Receives: what a full window of the channel takes of it. */
  readonly windowBytes: number;
  /** The oldest chunk that is posted and not finished; undefined without one. */
  readonly head: HeadChunk | undefined;
}

/** The chunk that a channel waits for. */
export interface HeadChunk {
  /** Number of its transfer. */
  readonly transfer: number;
  /** Number of the chunk in it, from 0. */
  readonly chunkIndex: number;
  /** Tag that both ends know it by. */
  readonly tag: number;
  /** First byte in its region. */
  readonly offset: number;
  /** Length. */
  readonly bytes: number;
}

export function readCounters(values: Float64Array, sendFallback = ''): ChannelCounters {
  const at = (index: number): number => values[index] ?? 0;
  const transfer = at(COUNTER_HEAD_TRANSFER);
  return {
    posted: at(COUNTER_POSTED),
    done: at(COUNTER_DONE),
    unpacked: at(COUNTER_UNPACKED),
    consumed: at(COUNTER_CONSUMED),
    highWater: at(COUNTER_HIGH_WATER),
    bytes: at(COUNTER_BYTES),
    fragments: at(COUNTER_FRAGMENTS),
    ringChunks: at(COUNTER_RING_CHUNKS),
    sendFallback,
    bounceBytes: at(COUNTER_BOUNCE_BYTES),
    windowBytes: at(COUNTER_WINDOW_BYTES),
    head:
      transfer === 0
        ? undefined
        : {
            transfer,
            chunkIndex: at(COUNTER_HEAD_CHUNK),
            tag: at(COUNTER_HEAD_TAG),
            offset: at(COUNTER_HEAD_OFFSET),
            bytes: at(COUNTER_HEAD_BYTES),
          },
  };
}

/** `receive, channel 1 (eth2): chunk 37, tag 38, offset 19398656; posted 53, done 37, …`. */
export function describeStall(
  role: 'send' | 'receive',
  channel: number,
  nic: string,
  counters: ChannelCounters,
): string {
  const { head, posted, done, unpacked, consumed } = counters;
  const where = `${role}, channel ${channel} (${nic})`;
  if (head === undefined) return `${where}: nothing posted`;
  const chunk = `chunk ${head.chunkIndex}, tag ${head.tag}, offset ${head.offset}`;
  if (role === 'send') return `${where}: ${chunk}; posted ${posted}, done ${done}`;
  const full = done === posted && posted - consumed >= 16 ? '; the pool of 16 is full' : '';
  const steps = `posted ${posted}, done ${done}, unpacked ${unpacked}, consumed ${consumed}`;
  return `${where}: ${chunk}; ${steps}${full}${drainedText(counters)}`;
}

// Pages come back only when a whole message is consumed: receives that cannot get enough of them
// wait for ever, and the plugin says nothing.
function drainedText({ posted, done, bounceBytes, windowBytes }: ChannelCounters): string {
  if (posted === done || bounceBytes === 0 || windowBytes <= bounceBytes) return '';
  return (
    `; the bounce buffer is drained: a full window takes ${windowBytes} bytes ` +
    `(--recv-window × --chunk), it has ${bounceBytes}`
  );
}
