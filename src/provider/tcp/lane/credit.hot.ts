// How much a channel may have in flight: as many chunks as the peer lets it, and, where channels
// share transfers, as many bytes as its own rate is worth (see flow/delivery-rate).

import { assert } from '../../../base/assert.js';
import { FLOAT_ZERO } from '../../../base/float-zero.js';
import { flightLimit, nextRate } from '../../../flow/delivery-rate.js';

/** Chunks that a striped channel may hold before its rate is known. */
const FLIGHT_START_CHUNKS = 4;

export interface CreditLimits {
  readonly windowChunks: number;
  readonly chunkBytesMax: number;
  readonly isStriped: boolean;
}

export class ChannelCredit {
  readonly isStriped: boolean;
  readonly #windowChunks: number;
  readonly #chunkBytesMax: number;
  /** Chunks that the peer lets this end have in flight at the moment. */
  chunks: number;
  /** Chunks that the peer may have in flight to this end, and what it was told. */
  granted: number;
  grantTold: number;
  flightBytes = 0;
  flightLimitBytes: number = FLOAT_ZERO;
  deliveredBytes = FLOAT_ZERO;
  rateBytesPerUs = FLOAT_ZERO;

  constructor({ windowChunks, chunkBytesMax, isStriped }: CreditLimits) {
    this.isStriped = isStriped;
    this.#windowChunks = windowChunks;
    this.#chunkBytesMax = chunkBytesMax;
    this.chunks = windowChunks;
    this.granted = windowChunks;
    this.grantTold = windowChunks;
    this.flightLimitBytes = isStriped
      ? FLIGHT_START_CHUNKS * chunkBytesMax
      : Number.POSITIVE_INFINITY;
  }

  /** What the peer can take, at most the agreed window; 0 says nothing, and the last stays. */
  onCredit(chunks: number): void {
    if (chunks === 0) return;
    this.chunks = chunks < this.#windowChunks ? chunks : this.#windowChunks;
  }

  grant(chunks: number): void {
    this.granted = chunks;
  }

  onGrantTold(): void {
    this.grantTold = this.granted;
  }

  addFlight(bytes: number): void {
    this.flightBytes += bytes;
  }

  dropFlight(bytes: number): void {
    assert(this.flightBytes >= bytes, 'what leaves the flight was in it');
    this.flightBytes -= bytes;
  }

  /** A chunk was confirmed `us` after it was framed; `deliveredAt`: what had been by then. */
  onDelivered(bytes: number, deliveredAt: number, us: number): void {
    this.flightBytes -= bytes;
    if (this.isStriped) this.#learnRate(bytes, deliveredAt, us);
  }

  #learnRate(bytes: number, deliveredAt: number, us: number): void {
    this.deliveredBytes += bytes;
    const sampleBytes = this.deliveredBytes - deliveredAt;
    this.rateBytesPerUs = nextRate(this.rateBytesPerUs, sampleBytes, us);
    this.flightLimitBytes = flightLimit(this.rateBytesPerUs, this.#chunkBytesMax);
  }
}
