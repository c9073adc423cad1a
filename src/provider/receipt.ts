// What a transfer did, from counters that are kept anyway: no system call is made for it, but for a
// look at the NICs now and then, where a READ came through the plugin.

import type { PluginReceipt } from './tcpx/plugin-receipt.js';

/** What one channel carried of a transfer. */
export interface ChannelReceipt {
  /** Number of the channel within its session, from 0. */
  readonly channel: number;
  /** Interface that the channel was bound to; empty where routing decides, `shm` for none. */
  readonly nic: string;
  /** Payload that it carried. */
  readonly bytes: number;
  /** Chunks that it carried. */
  readonly chunks: number;
}

/** A setting as it was in effect for a transfer, and who or what chose it. */
export interface Choice {
  /**
   * Of the setting; `lanes` of one transfer are those that it was spread over, `copies` how its
   * writer was asked to copy it into shared memory.
   */
  readonly name: string;
  /** As text. */
  readonly value: string;
  /** `auto: REASON`, or where it was set: `flag --NAME`, `environment NAME`, `option`. */
  readonly reason: string;
}

/** What carried the data: kernel TCP or an NCCL net plugin. */
export type ProviderName = 'tcp' | 'tcpx';

/** What became of a transfer: path, bytes, times, and what had to be done again. */
export interface Receipt {
  /** Name of the peer. */
  readonly peer: string;
  /** What carried the bytes of this transfer. */
  readonly provider: ProviderName;
  /**
   * Why, where a session has both: the choice of the session, or memory that a plugin cannot reach.
   */
  readonly providerReason: string;
  /**
   * How the bytes went: `tcp host` is kernel TCP, memory in place; `shm` shared memory. `staged`:
   * GPU memory is at one end or both, copied through pinned memory there. `tcpx`: by the plugin.
   */
  readonly path: TransferPath;
  /** Why channels to this peer run over TCP or through shared memory. */
  readonly pathReason: string;
  /** How the peer has proven itself. */
  readonly trust: string;
  /** What was posted. */
  readonly operation: 'write' | 'read' | 'notify';
  /** Bytes that were to be moved. */
  readonly bytes: number;
  /** Bytes that have landed, as the receiver confirmed. */
  readonly bytesConfirmed: number;
  /** Pieces that it was cut into. */
  readonly chunks: number;
  /** Chunks and notifications that had to be sent again. */
  readonly retries: number;
  /** Of them: chunks that had arrived with a wrong checksum (flow.checksum). */
  readonly damaged: number;
  /** Those that had part in it. */
  readonly channels: readonly ChannelReceipt[];
  /**
   * What the session ran with, and why: channels, chunk, window, lanes, spinning, congestion
   * control; of transfers from 64 KiB on also how they left, and over how many lanes.
   */
  readonly choices: readonly Choice[];
  /** Post to confirmation; to now while it is in flight. */
  readonly durationUs: number;
  /** Of a staged transfer: what this end saw of each stage. */
  readonly stages?: StageTimes;
  /** Of a transfer through the plugin: who, how, and where its threads ran. */
  readonly plugin?: PluginReceipt;
}

/** How the channels of a session go: over TCP, or through memory that both ends share. */
export type DataPath = 'tcp host' | 'shm';

/** The way that the bytes took. */
export type TransferPath = DataPath | 'tcp staged' | 'shm staged' | 'tcpx' | 'tcpx host-recv';

/** The same with GPU memory at an end: copied through pinned memory there. */
export function stagedPath(path: DataPath): TransferPath {
  return path === 'shm' ? 'shm staged' : 'tcp staged';
}

export function isStagedPath(path: TransferPath): boolean {
  return path === 'tcp staged' || path === 'shm staged';
}

/**
 * Microseconds, summed over the chunks, so more than the duration where stages overlap. An end
 * sees its own stages: the initiator of a write copies out and sends (until the target has
 * confirmed, its copy included); that of a read receives (from the request on) and copies in. The
 * target tells how long its own copies took.
 */
export interface StageTimes {
  /** From GPU memory to pinned memory, in µs. */
  readonly copyOutUs: number;
  /** In calls that send, in µs. */
  readonly sendUs: number;
  /** In calls that receive, in µs. */
  readonly receiveUs: number;
  /** From pinned memory to GPU memory, in µs. */
  readonly copyInUs: number;
  /** The target's copies, into its GPU memory (write) or out of it (read), in µs. */
  readonly peerCopyUs: number;
}
