// The chunk plan of a matched transport: which channel carries which chunk, in which order. Both
// ends derive it from lengths, chunk size and weights alone, so that the k-th message that one end
// sends on a channel is the k-th that the other end expects there. Pure.

import { TcpxError } from '../base/errors.js';

const MATCHED_CHANNELS_MAX = 16;
export const MATCHED_WEIGHT_MAX = 1000;
/** Chunks of one announcement; a bound on what a peer can make us plan. */
export const MATCHED_CHUNKS_MAX = 1 << 20;

export interface MatchedPlan {
  readonly chunkCount: number;
  /** Per chunk, in tag order. */
  readonly channels: Uint8Array;
  readonly blocks: Uint32Array;
  readonly blockOffsets: Float64Array;
  readonly bytes: Float64Array;
  /** Chunks and bytes per channel. */
  readonly channelChunks: Uint32Array;
  readonly channelBytes: Float64Array;
  readonly totalBytes: number;
}

/** `weights` has one entry per channel; equal weights give chunk k to channel k mod N. */
export function planMatched(
  blockBytes: readonly number[] | Float64Array,
  chunkBytes: number,
  weights: readonly number[],
): MatchedPlan {
  checkWeights(weights);
  const chunkCount = countChunks(blockBytes, chunkBytes);
  const plan = {
    chunkCount,
    channels: new Uint8Array(chunkCount),
    blocks: new Uint32Array(chunkCount),
    blockOffsets: new Float64Array(chunkCount),
    bytes: new Float64Array(chunkCount),
    channelChunks: new Uint32Array(weights.length),
    channelBytes: new Float64Array(weights.length),
  };
  const turn = new WeightedTurn(weights);
  let index = 0;
  for (let block = 0; block < blockBytes.length; block++) {
    const length = blockBytes[block] ?? 0;
    for (let offset = 0; offset < length; offset += chunkBytes, index++) {
      const channel = turn.next();
      const bytes = Math.min(chunkBytes, length - offset);
      plan.channels[index] = channel;
      plan.blocks[index] = block;
      plan.blockOffsets[index] = offset;
      plan.bytes[index] = bytes;
      plan.channelChunks[channel] = (plan.channelChunks[channel] ?? 0) + 1;
      plan.channelBytes[channel] = (plan.channelBytes[channel] ?? 0) + bytes;
    }
  }
  const totalBytes = plan.channelBytes.reduce((sum, bytes) => sum + bytes, 0);
  return { ...plan, totalBytes };
}

/** A number that differs when channel or length of any chunk does: compared before data moves. */
export function planDigest(plan: MatchedPlan): number {
  let digest = 0x811c9dc5;
  for (let index = 0; index < plan.chunkCount; index++) {
    digest = Math.imul(digest ^ (plan.channels[index] ?? 0), 0x01000193);
    digest = Math.imul(digest ^ (plan.bytes[index] ?? 0), 0x01000193);
  }
  return digest >>> 0;
}

function countChunks(blockBytes: readonly number[] | Float64Array, chunkBytes: number): number {
  if (!Number.isSafeInteger(chunkBytes) || chunkBytes <= 0) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', `chunk plan: chunk of ${chunkBytes} bytes`);
  }
  let count = 0;
  for (const bytes of blockBytes) {
    if (!Number.isSafeInteger(bytes) || bytes < 0) {
      throw new TcpxError('ERR_USAGE_ARGUMENT', `chunk plan: block of ${bytes} bytes`);
    }
    count += Math.ceil(bytes / chunkBytes);
  }
  if (count <= MATCHED_CHUNKS_MAX) return count;
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `chunk plan: ${count} chunks of ${chunkBytes} bytes, at most ${MATCHED_CHUNKS_MAX}`,
  );
}

function checkWeights(weights: readonly number[]): void {
  const isGood =
    weights.length > 0 &&
    weights.length <= MATCHED_CHANNELS_MAX &&
    weights.every((w) => Number.isInteger(w) && w >= 0 && w <= MATCHED_WEIGHT_MAX) &&
    weights.some((weight) => weight > 0);
  if (isGood) return;
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `chunk plan: weights ${weights.join(',')} are not 1 to ${MATCHED_CHANNELS_MAX} integers of ` +
      `0 to ${MATCHED_WEIGHT_MAX}, one above 0`,
  );
}

// Smooth weighted round-robin: each turn adds the weight, the largest credit wins and pays the sum.
class WeightedTurn {
  readonly #weights: readonly number[];
  readonly #credits: number[];
  readonly #sum: number;

  constructor(weights: readonly number[]) {
    this.#weights = weights;
    this.#credits = weights.map(() => 0);
    this.#sum = weights.reduce((sum, weight) => sum + weight, 0);
  }

  next(): number {
    let best = -1;
    for (let channel = 0; channel < this.#weights.length; channel++) {
      const credit = (this.#credits[channel] ?? 0) + (this.#weights[channel] ?? 0);
      this.#credits[channel] = credit;
      const isOpen = (this.#weights[channel] ?? 0) > 0;
      if (isOpen && (best < 0 || credit > (this.#credits[best] ?? 0))) best = channel;
    }
    this.#credits[best] = (this.#credits[best] ?? 0) - this.#sum;
    return best;
  }
}
