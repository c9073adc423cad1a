// How much a channel may have in flight: as many chunks as the peer lets it, and, where channels
// share transfers, as many bytes as its own rate is worth (see flow/delivery-rate).

import { assert } from '../../../base/assert.js';
import { FLOAT_ZERO } from '../../../base/float-zero.js';
import { flightLimit, nextMeanRate, nextRate } from '../../../flow/delivery-rate.js';
import { LINK_FLIGHT, LINK_RATE, RATE_UNKNOWN } from '../../../flow/link-share.hot.js';

/** Chunks that a striped channel may hold before its rate is known. */
const FLIGHT_START_CHUNKS = 4;

export interface CreditLimits {
  readonly windowChunks: number;
  readonly chunkBytesMax: number;
  readonly isStriped: boolean;
  /** Where other lanes read its rate and its flight. */
  readonly link: Float64Array;
}

export class ChannelCredit {
  readonly isStriped: boolean;
  readonly #windowChunks: number;
  readonly #chunkBytesMax: number;
  readonly #link: Float64Array;
  #isEnded = false;
  /** The least that a chunk took from its frame to its confirmation. */
  #roundTripUs = Number.POSITIVE_INFINITY;
  #meanRate = FLOAT_ZERO;
  /** Chunks that the peer lets this end have in flight at the moment. */
  chunks: number;
  /** Chunks that the peer may have in flight to this end, and what it was told. */
  granted: number;
  grantTold: number;
  flightBytes = 0;
  flightLimitBytes: number = FLOAT_ZERO;
  deliveredBytes = FLOAT_ZERO;
  rateBytesPerUs = FLOAT_ZERO;

  constructor({ windowChunks, chunkBytesMax, isStriped, link }: CreditLimits) {
    this.#link = link;
    link[LINK_RATE] = RATE_UNKNOWN;
    link[LINK_FLIGHT] = 0;
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
    this.#setFlight(this.flightBytes + bytes);
  }

  dropFlight(bytes: number): void {
    assert(this.flightBytes >= bytes, 'what leaves the flight was in it');
    this.#setFlight(this.flightBytes - bytes);
  }

  #setFlight(bytes: number): void {
    this.flightBytes = bytes;
    if (this.isStriped && !this.#isEnded) this.#link[LINK_FLIGHT] = bytes;
  }

  /** The channel has ended: nobody leaves anything to it, and its place may be another's. */
  end(): void {
    this.#isEnded = true;
    this.#link[LINK_RATE] = 0;
  }

  /** A chunk was confirmed `us` after it was framed; `deliveredAt`: what had been by then. */
  onDelivered(bytes: number, deliveredAt: number, us: number): void {
    this.#setFlight(this.flightBytes - bytes);
    if (this.isStriped) this.#learnRate(bytes, deliveredAt, us);
  }

  #learnRate(bytes: number, deliveredAt: number, us: number): void {
    this.deliveredBytes += bytes;
    const sampleBytes = this.deliveredBytes - deliveredAt;
    this.rateBytesPerUs = nextRate(this.rateBytesPerUs, sampleBytes, us);
    if (us > 0 && us < this.#roundTripUs) this.#roundTripUs = us;
    const { rateBytesPerUs } = this;
    if (rateBytesPerUs === 0) return;
    this.flightLimitBytes = flightLimit(rateBytesPerUs, this.#roundTripUs, this.#chunkBytesMax);
    this.#meanRate = nextMeanRate(this.#meanRate, sampleBytes, us);
    if (!this.#isEnded) this.#link[LINK_RATE] = this.#meanRate;
  }
}
