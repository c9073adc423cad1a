// What application and plugin host say to each other in text records: set-up, ends and failures.
// Both are the same build on the same machine; the plugin sees none of it.

import type { ErrorCode, ErrorFacts } from '../../base/errors.js';
import type { ChannelSlot } from '../../base/quantity.js';
import type { DeviceProperties } from '../../ffi/nccl-net/properties.js';
import type { ThreadPlacement } from './helper-threads.js';
import type { Direction } from './host-layout.js';
import type { SharedRegion } from './host-region.js';

/** How a host is started; one argument, as JSON. */
export interface HostOptions {
  readonly pluginPath: string;
  readonly pluginName: string;
  readonly gpu: number;
  readonly chunkBytes: number;
  readonly recvWindow: number;
  readonly sendWindow: number;
  readonly isHostRecv: boolean;
  readonly unpack: 'kernel' | 'd2d' | 'host' | 'none';
  readonly sendFrom: 'auto' | 'ring' | 'region';
  /** 0 when not known. */
  readonly bounceBytes: number;
  readonly rxdmTimeoutMs: number;
  /** For tests: as if there were no log shim. */
  readonly isLogLost?: boolean;
  /** For tests of what follows: received chunks are never given back. */
  readonly isConsumeSkipped?: boolean;
  /** Empty: traces go to stderr; undefined: no trace. */
  readonly tracePath?: string;
}

export interface HostFacts {
  readonly path: string;
  readonly name: string;
  readonly tableVersion: number;
  readonly isEmulated: boolean;
  /** Of the emulator; a real plugin says it in its log. */
  readonly emulatorVersion: string;
  readonly devices: readonly DeviceProperties[];
  /** `host` or `cuda`: the pointer type of registrations. */
  readonly pointerType: 'host' | 'cuda';
  /** The rail GPU whose primary context is current; empty with the emulator on host memory. */
  readonly gpuContext: string;
  /** Who unpacks: the GPU, or the processor where there is none. */
  readonly unpackedBy: 'gpu' | 'cpu' | 'none';
}

export type HostCommand =
  | {
      readonly op: 'listen';
      readonly id: number;
      readonly channel: ChannelSlot;
      readonly nic: string;
    }
  /** Connects to the peer's handle and accepts on the own one; answers when both are there. */
  | {
      readonly op: 'join';
      readonly id: number;
      readonly channel: ChannelSlot;
      readonly handle: string;
    }
  | { readonly op: 'close'; readonly id: number; readonly channel: ChannelSlot }
  | {
      readonly op: 'map';
      readonly id: number;
      readonly region: number;
      readonly memory: SharedRegion;
    }
  | { readonly op: 'unmap'; readonly id: number; readonly region: number }
  | { readonly op: 'pages'; readonly id: number }
  | { readonly op: 'stop'; readonly id: number };

export interface HostFailure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly facts: ErrorFacts;
}

export type HostEvent =
  | { readonly kind: 'started'; readonly facts: HostFacts }
  | {
      readonly kind: 'answer';
      readonly id: number;
      readonly handle?: string;
      readonly pages?: PageCount;
    }
  | { readonly kind: 'refused'; readonly id: number; readonly failure: HostFailure }
  /** Before the plugin is initialised: what it says is lost, and why. */
  | { readonly kind: 'silent'; readonly reason: string }
  /** Looked at anew whenever a direction of a channel has finished its first part. */
  | { readonly kind: 'threads'; readonly placement: ThreadPlacement }
  /** Fragments are checked against 4 GiB: the driver does not know the bounce buffer. */
  | { readonly kind: 'unknown-extent'; readonly channel: ChannelSlot }
  /** A registration was refused: the channel sends from its ring. */
  | { readonly kind: 'fallback'; readonly channel: ChannelSlot; readonly reason: string }
  /** The channel is dead in this direction: every chunk of it fails. */
  | {
      readonly kind: 'broken';
      readonly channel: ChannelSlot;
      readonly direction: Direction;
      readonly failure: HostFailure;
    };

export interface PageCount {
  readonly pages: number;
  readonly freePages: number;
}
