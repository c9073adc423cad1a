// What a channel has under way between GPU memory and the socket. All arrays exist from the start;
// the .hot files move cursors, which are 32-bit and wrap.
//
//   own writes    outHead … outStarted: copying out or ready │ outStarted … outTail: claimed only
//                 then in flightSlot until they are confirmed, or in vectorSlot until they are sent
//   peer's reads  serveStarted of the channel's serve queue: those before it need no copy any more
//   arrivals      landHead … landTail: received in full, in order, waiting for their device copy

import { FLIGHT_SLOTS } from './flight.js';
import { noStagers, type Stager } from './stager.js';
import { TABLE_ENTRIES_MAX } from '../../../wire/data-frame.js';

/** A frame in the landing queue that only waits for those before it. */
export const NO_SLOT = -1;
/** A chunk that will not be copied: its transfer or its GPU has failed. */
export const GIVEN_UP = -2;

export const LAND_WRITE = 1;
export const LAND_READ = 2;
/** The peer refused a read; `landLow` is the reason. */
export const LAND_READ_REFUSED = 3;
/** An answer that arrived with a wrong checksum: asked for again. */
export const LAND_READ_DAMAGED = 4;

export class ChannelStaging {
  /** By region device number: GPU n at n + 1. */
  readonly stagers: (Stager | undefined)[] = noStagers();

  outHead = 0;
  outStarted = 0;
  outTail = 0;
  readonly outDevice = new Int32Array(FLIGHT_SLOTS);
  readonly outSlot = new Int32Array(FLIGHT_SLOTS);
  readonly outTransfer = new Int32Array(FLIGHT_SLOTS);
  readonly outChunk = new Int32Array(FLIGHT_SLOTS);
  /** The chunk that takeCopied has just handed out, and its slot. */
  copiedTransfer = 0;
  copiedChunk = 0;
  copiedDevice = 0;
  copiedSlot = NO_SLOT;

  /** By own WRITE in flight: the slot that its bytes are sent from by reference, or NO_SLOT. */
  readonly flightDevice = new Int32Array(FLIGHT_SLOTS);
  readonly flightSlot = new Int32Array(FLIGHT_SLOTS).fill(NO_SLOT);
  flightHeld = 0;

  /** Slots whose bytes are in the vector that is being sent, by reference. */
  vectorHeld = 0;
  /** By copy. */
  vectorCount = 0;
  readonly vectorDevice = new Int32Array(FLIGHT_SLOTS);
  readonly vectorSlot = new Int32Array(FLIGHT_SLOTS);

  serveStarted = 0;
  readonly serveDevice = new Int32Array(FLIGHT_SLOTS);
  readonly serveSlot = new Int32Array(FLIGHT_SLOTS);

  /** Slots of the out pools that this channel holds. */
  outHeld = 0;

  // The frame that is being received: its slot, and the blocks of device memory it is for.
  frameDevice = 0;
  frameSlot = NO_SLOT;
  frameLow = 0;
  frameHigh = 0;
  blockCount = 0;
  readonly blockAddr = new Float64Array(TABLE_ENTRIES_MAX);
  readonly blockBytes = new Float64Array(TABLE_ENTRIES_MAX);

  landHead = 0;
  landTail = 0;
  readonly landKind = new Int32Array(FLIGHT_SLOTS);
  readonly landDevice = new Int32Array(FLIGHT_SLOTS);
  readonly landSlot = new Int32Array(FLIGHT_SLOTS);
  /** Region of ours that stays open until the copy is done, −1 without one. */
  readonly landRegion = new Int32Array(FLIGHT_SLOTS);
  readonly landLow = new Int32Array(FLIGHT_SLOTS);
  readonly landHigh = new Int32Array(FLIGHT_SLOTS);
}
