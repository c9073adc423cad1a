// One ordered stream to a peer, as its lane sees it. What changes lies in parts, each written by
// the files that lane-owners.test.ts names for it and by nobody else. All memory is taken when the
// channel is added; the .hot files only move indexes.

import type { ChannelIndex, Epoch, SessionIndex } from '../../../base/quantity.js';
import { LINK_FLOATS } from '../../../flow/link-share.hot.js';
import { type MemorySource, mappedMemory } from '../../../os/fixed-memory.js';
import type { StreamPort } from '../port/stream-port.js';
import { Arrivals } from './arrivals.hot.js';
import { ChannelHealth } from './channel-health.js';
import { ChannelReady } from './channel-ready.hot.js';
import { ChannelCredit } from './credit.hot.js';
import { HeldSlots } from './held-slots.js';
import { Intake } from './intake.js';
import { Landing } from './landing.js';
import { OutCopies } from './out-copies.js';
import { OwnReads } from './own-reads.js';
import { OwnWrites } from './own-writes.js';
import { Refusals } from './refusals.js';
import { SendVector } from './send-vector.js';
import { ServedReads } from './served-reads.js';
import { noStagers, type Stager } from './stager.js';

export interface ChannelOptions {
  readonly port: StreamPort;
  readonly sessionIndex: SessionIndex;
  readonly channelIndex: ChannelIndex;
  /** Which connection of this index. */
  readonly epoch: Epoch;
  readonly windowChunks: number;
  readonly chunkBytesMax: number;
  /** Whether frames carry checks, in both directions. */
  readonly isChecked: boolean;
  /** The peer alone posts on it: this end answers, and sends nothing else. Or the other way. */
  readonly isPeers?: boolean;
  readonly isOwn?: boolean;
  /** Whether other channels pull from the same transfers. */
  readonly isStriped: boolean;
  /** Where other lanes read its rate and its flight; only its own where none do. */
  readonly link?: Float64Array;
  readonly memory?: MemorySource;
}

export class Channel {
  readonly port: StreamPort;
  readonly sessionIndex: SessionIndex;
  readonly channelIndex: ChannelIndex;
  readonly epoch: Epoch;
  readonly windowChunks: number;
  readonly chunkBytesMax: number;
  readonly isChecked: boolean;
  readonly isPeers: boolean;
  readonly isOwn: boolean;
  readonly #memory: MemorySource;

  /** Whether reading and writing are worth trying. */
  readonly ready = new ChannelReady();
  /** What is being sent. */
  readonly vector: SendVector;
  /** Own frames in flight. */
  readonly writes = new OwnWrites();
  readonly reads = new OwnReads();
  /** How much may be in flight, either way. */
  readonly credit: ChannelCredit;
  /** The peer's frames: what has come and landed, what was refused, which reads are served. */
  readonly arrivals = new Arrivals();
  readonly refusals = new Refusals();
  readonly served: ServedReads;
  /** What is being received. */
  readonly intake: Intake;
  readonly health = new ChannelHealth();

  // Between GPU memory and the socket.
  /** By region device number: GPU n at n + 1. */
  readonly stagers: (Stager | undefined)[] = noStagers();
  readonly copies = new OutCopies();
  readonly held = new HeldSlots();
  readonly landing = new Landing();

  constructor(options: ChannelOptions) {
    this.port = options.port;
    this.sessionIndex = options.sessionIndex;
    this.channelIndex = options.channelIndex;
    this.epoch = options.epoch;
    this.windowChunks = options.windowChunks;
    this.chunkBytesMax = options.chunkBytesMax;
    this.isChecked = options.isChecked;
    this.isPeers = options.isPeers ?? false;
    this.isOwn = options.isOwn ?? false;
    this.#memory = options.memory ?? mappedMemory;
    const link = options.link ?? new Float64Array(LINK_FLOATS);
    const { windowChunks, chunkBytesMax, isStriped } = options;
    this.credit = new ChannelCredit({ windowChunks, chunkBytesMax, isStriped, link });
    this.vector = new SendVector(this.#memory);
    this.intake = new Intake(this.#memory);
    this.served = new ServedReads(this.#memory, options.windowChunks);
  }

  /** Whether the peer owes an acknowledgement or an answer. */
  hasFlight(): boolean {
    return this.writes.acked !== this.writes.next || this.reads.done !== this.reads.next;
  }

  /** Frees what the channel holds. With `isAborted` what was not sent yet is thrown away. */
  destroy(isAborted = false): void {
    this.port.close(isAborted);
    this.#memory.destroy(this.vector.heads);
    this.#memory.destroy(this.intake.staging);
    this.#memory.destroy(this.served.memory);
  }
}
