// What a provider is: the two kinds of carriers that move the bytes of a session, and what each
// call must guarantee. The engine above knows sessions, transfers, regions and receipts; a carrier
// knows channels. There is one carrier of lanes per engine (tcp, shared memory, the simulator's
// links) and, where both ends agreed on tcpx, one matched carrier per session.
//
//   addressed  each frame says region, offset and length: the receiver places it at once, channels
//              take the next chunk by themselves, and a lost channel's chunks go to another one
//   matched    the receiver posts in the order in which the sender sends; both derive it from
//              the same plan; no failover of chunks: what is in flight fails with a typed error

import type { TcpxError } from '../base/errors.js';
import type { Generation, TransferSlot } from '../base/quantity.js';
import type { CheckedBlocks } from './block-columns.js';
import type { ChannelReceipt, Choice, StageTimes, TransferPath } from './receipt.js';
import type { PluginReceipt } from './tcpx/plugin-receipt.js';

export type Capability = 'addressed' | 'matched';
export type DataOperation = 'write' | 'read';

/** A CUDA event of this process. */
export interface SourceEvent {
  /** CUDA ordinal of the GPU whose stream recorded it. */
  readonly device: number;
  /** The CUevent, as a number. */
  readonly handle: number;
}

/** A request as one carrier has prepared it. */
export interface Prepared {
  readonly path: TransferPath;
  readonly chunkCount: number;
}

/** One post of a prepared request, from its entry in the table to its end. */
export interface Posted<S> {
  readonly session: S;
  /** Place in the engine's table of transfers; used again, so the generation goes with it. */
  readonly slot: TransferSlot;
  readonly generation: Generation;
  readonly bytes: number;
  readonly chunks: number;
  readonly path: TransferPath;
  /** Lanes that were told, as bits. */
  laneBits: number;
}

/** What a finished post came to. */
export interface Outcome {
  /** A reason by number (see the lanes' layout), 0 for none. */
  readonly failure: number;
  /** A failure that has no number. */
  readonly error?: TcpxError | undefined;
  /** Given up by its owner: failed, whatever landed before. */
  readonly isCancelled?: boolean;
  readonly channels: readonly ChannelReceipt[];
  /** What was chosen for this post alone. */
  readonly choices?: readonly Choice[] | undefined;
  readonly stages?: StageTimes | undefined;
  readonly plugin?: PluginReceipt | undefined;
  /** Chunks and notifications that had to be sent again. */
  readonly retries: number;
  /** Of them: those that had arrived with a wrong checksum, and where the last had. */
  readonly damaged: number;
  readonly damagedWhere: string;
  /** Why the session was lost, where that is the failure. */
  readonly sessionError: TcpxError | undefined;
}

export interface Carrier<S, P extends Prepared> {
  readonly capability: Capability;
  /** Of posts that name none; 0: such a post has all the time that its session has. */
  readonly defaultDeadlineMs: number;

  /** Plans and encodes once, for all posts. Throws what the caller did wrong. */
  prepare(session: S, operation: DataOperation, blocks: CheckedBlocks): P;

  /** Frees what `prepare` took; nothing of the request is in flight. */
  release(prepared: P): void;

  /**
   * Takes an entry for one post and returns its slot. Nothing moves yet. Throws, with nothing
   * taken, where there is no room.
   */
  open(session: S, operation: DataOperation, prepared: P, extra: PostExtra): number;

  /**
   * Lets it go. From here on the carrier owes one end: it reports the slot as finished exactly
   * once, when every byte (and the notification) has landed and was confirmed, or when none of them
   * lands any more. Never throws for what a peer or a plugin does.
   */
  submit(posted: Posted<S>, prepared: P): void;

  /** As soon as no byte of it can land any more it is finished, as cancelled; not before. */
  cancel(posted: Posted<S>): void;

  /** What the slot says about a finished post before it is used again, or so far about one. */
  outcome(posted: Posted<S>, failure: number): Outcome;

  /** Bytes confirmed by now of a post in flight, where the table of entries does not count them. */
  confirmedBytes?(posted: Posted<S>): number;

  /** Gives the slot and what `open` took back. */
  close(posted: Posted<S>): void;
}

/** What a post has beside its blocks. */
export interface PostExtra {
  /** Delivered to the peer's program after every byte has landed, and once. */
  readonly notify: Uint8Array | undefined;
  /** Until it has happened nothing of the source is read. */
  readonly source: SourceEvent | undefined;
}
