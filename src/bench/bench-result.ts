// The document that benchmarks print: schema tcpx.bench/1.

import type { DevmemVerdict, RegionMemory } from '../engine/internal.js';
import type { ChoiceTally } from './choice-tally.js';
import type { EncodedHistogram } from './histogram.js';
import type { InterruptPairs } from './interrupt-counts.js';
import type { BenchInterval } from './interval-meter.js';
import type { KvShape } from './kv-shape.js';
import type { PausesBetween } from './lane-pauses.js';
import type { SampleSeries } from './samples.js';
import type { Percentiles, Spread } from './statistics.js';
import type { ThresholdVerdict } from './thresholds.js';

export interface BenchResult {
  readonly schema: 'tcpx.bench/1';
  readonly ok: boolean;
  /** Where the figures come from: run here, through an emulator, or somebody else's. */
  readonly evidence: 'measured' | 'emulated' | 'reference';
  readonly provider: string;
  readonly providerReason: string;
  /** How the bytes went: `tcp host`, `tcp staged`, `tcpx`; `shm` where no network was used. */
  readonly path: string;
  readonly op: string;
  readonly memory: string;
  readonly progress: string;
  readonly sizeBytes: number;
  readonly blockBytes: number;
  readonly chunkBytes: number;
  readonly channels: number;
  readonly lanes: number;
  readonly iterations: number;
  /** 10^9 bytes per second, confirmed by the receiver. */
  readonly bandwidthGBps: Spread;
  /** Post to landed and confirmed; half a round trip for pingpong. */
  readonly latencyUs: Percentiles;
  /** CPU time of the whole process during the timed windows, per 10^9 bytes. */
  readonly cpuSecondsPerGB: { readonly initiator: number; readonly target: number };
  readonly verified: { readonly iterations: number; readonly mismatches: number };
  /** Through the plugin: whether the data came through device memory. */
  readonly devmem?: DevmemVerdict;
  /** Through the plugin: `bound`, `none`, `unseen`, or `differs` with the reason, at each end. */
  readonly threads?: { readonly initiator: string; readonly target: string };
  readonly receipt: unknown;
  /** What the initiator's kernel counted during the measured iterations, for the whole host. */
  readonly kernel?: KernelDelta;
  /** Where the initiator's lanes ran; empty where callers drive. */
  readonly laneCpus: readonly { readonly cpu: number; readonly pinnedTo: readonly number[] }[];
  /** The initiator's sends by reference, warm-up included; empty with --send-by copy. */
  readonly zeroCopy: readonly ZeroCopyResult[];
  readonly config: Readonly<Record<string, string | number | boolean>>;
  readonly host: HostFacts;
  readonly peer: HostFacts;
  // From here on: absent from results of earlier versions.
  /** Why it ended before its time; the figures are of what was measured until then. */
  readonly partial?: string;
  /** What the initiator's host memory lies on. */
  readonly pages?: RegionMemory['pages'];
  /** When it ended. */
  readonly recordedAt?: string;
  /** Its name in the store; absent where it is not kept. */
  readonly id?: string;
  /** The words of the command line. */
  readonly command?: readonly string[];
  readonly samples?: {
    readonly bandwidthGBps: SampleSeries;
    readonly latencyUs: SampleSeries;
  };
  /** Of every transfer, in nanoseconds; those of several runs merge. */
  readonly histograms?: { readonly latencyNs: EncodedHistogram };
  /** Of measured transfers: what each kind was given that nobody had set, and how fast it was. */
  readonly chosen?: readonly ChoiceTally[];
  readonly intervals?: readonly BenchInterval[];
  /** In the measured iterations, both directions. */
  readonly bytesMoved?: number;
  /**
   * Of a transfer: the request made ready, the call that posts, and from its end to the
   * confirmation. Absent from a ping-pong.
   */
  readonly phases?:
    | {
        readonly prepareUs: number;
        readonly postUs: Percentiles & { readonly mean: number };
        readonly flightUs: Percentiles & { readonly mean: number };
      }
    | undefined;
  /** Of the measured iterations, by this host's clock, in ms since 1970. */
  readonly window?: { readonly fromMs: number; readonly toMs: number };
  /** Where several ran at once. */
  readonly group?: {
    readonly pattern: string;
    readonly member: number;
    readonly members: number;
  };
  /** Where the transfer has the shape of a prompt's KV cache. */
  readonly kv?: KvShape;
  /** Of the settings that are not at their default: where each came from. */
  readonly origins?: Readonly<Record<string, string>>;
  /** What a reader must know before believing the figures. */
  readonly warnings?: readonly string[];
  /** What is in flight at most: transfers, their blocks, and chunks of all channels. */
  readonly requestDepth?: {
    readonly transfers: number;
    readonly blocks: number;
    readonly chunks: number;
  };
  /** Of the initiator's NICs. */
  readonly interrupts?: InterruptPairs;
  /**
   * Load average of one minute at the initiator; `stolen` is the part of its CPU time that went to
   * other virtual machines meanwhile, absent where that is not known.
   */
  readonly load?: { readonly before: number; readonly after: number; readonly stolen?: number };
  readonly thresholds?: readonly ThresholdVerdict[];
  /** Of the collector of memory in the measured part, all lanes; absent where callers drive. */
  readonly lanePauses?: { readonly initiator?: PausesBetween; readonly target?: PausesBetween };
}

export interface KernelDelta {
  readonly tcp: Readonly<Record<string, number>>;
  readonly nics: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** TCP_INFO of each channel's connection at the initiator; empty where no socket carried data. */
  readonly channels: readonly ChannelKernel[];
  /** The same connections as the target's kernel saw them. */
  readonly peerChannels: readonly ChannelKernel[];
}

/** What grew during the measured iterations, and how the connection stood at its end. */
export interface ChannelKernel {
  readonly channel: number;
  readonly nic: string;
  /** −1 where the kernel does not count it. */
  readonly retransmits: number;
  readonly bytesAcked: number;
  readonly bytesReceived: number;
  readonly busyUs: number;
  readonly receiveLimitedUs: number;
  readonly sendBufferLimitedUs: number;
  readonly rttUs: number;
  readonly rttMinUs: number;
  readonly congestionWindow: number;
  readonly deliveryBytesPerSecond: number;
}

export interface ZeroCopyResult {
  readonly channel: number;
  readonly sends: number;
  readonly zeroCopied: number;
  readonly copied: number;
  readonly fallbacks: number;
}

export interface HostFacts {
  readonly hostname: string;
  readonly cpu: string;
  readonly cores: number;
  readonly kernel: string;
  readonly node: string;
  readonly version: string;
  readonly congestion: string;
}
