// The chunk plan of a matched transport: which channel carries which chunk, in which order. Both
// ends derive it from lengths, chunk size and weights alone, so that the k-th message that one end
// sends on a channel is the k-th that the other end expects there. Large blocks are cut into
// chunks, small ones that follow each other are gathered into one. Pure.

import { assert, at, byteAt, floatAt, wordAt } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';

const MATCHED_CHANNELS_MAX = 16;
export const MATCHED_WEIGHT_MAX = 1000;
/** Chunks of one announcement; a bound on what a peer can make us plan. */
export const MATCHED_CHUNKS_MAX = 1 << 20;

/** Blocks of one chunk: a bound on the work for one message. */
export const GATHERED_BLOCKS_MAX = 1024;

export interface MatchedPlan {
  /** Of the blocks that were planned. */
  readonly blockBytes: Float64Array;
  readonly chunkCount: number;
  /** Per chunk, in tag order. */
  readonly channels: Uint8Array;
  /** The block that it is cut from, or the first of those gathered in it. */
  readonly blocks: Uint32Array;
  /** Above 1: so many whole blocks from that one on. */
  readonly blockCounts: Uint32Array;
  readonly blockOffsets: Float64Array;
  readonly bytes: Float64Array;
  /** Chunks and bytes per channel. */
  readonly channelChunks: Uint32Array;
  readonly channelBytes: Float64Array;
  readonly totalBytes: number;
}

/**
 * `weights` has one entry per channel; equal weights give chunk k to channel k mod N. Blocks of at
 * most `gatherBytes` are gathered; 0 gives every block messages of its own.
 */
export function planMatched(
  blockBytes: readonly number[] | Float64Array,
  chunkBytes: number,
  weights: readonly number[],
  gatherBytes = 0,
): MatchedPlan {
  checkWeights(weights);
  const limits = { chunkBytes, gatherBytes };
  const lengths = Float64Array.from(blockBytes);
  const plan = new PlanWriter(lengths, countChunks(lengths, limits), weights);
  for (let block = 0; block < lengths.length; ) {
    const end = gatheredEnd(lengths, block, limits);
    const bytes = sumOf(lengths, block, end);
    for (let offset = 0; offset < bytes; offset += chunkBytes) {
      plan.add(block, end - block, offset, Math.min(chunkBytes, bytes - offset));
    }
    block = end;
  }
  return plan.finish();
}

interface Limits {
  readonly chunkBytes: number;
  readonly gatherBytes: number;
}

/** End of the blocks that share messages with this one: the next one for a block alone. */
function gatheredEnd(blockBytes: Float64Array, first: number, limits: Limits): number {
  const { chunkBytes, gatherBytes } = limits;
  let bytes = floatAt(blockBytes, first);
  let end = first + 1;
  if (bytes > gatherBytes) return end;
  const last = Math.min(blockBytes.length, first + GATHERED_BLOCKS_MAX);
  for (; end < last; end++) {
    const next = floatAt(blockBytes, end);
    if (next > gatherBytes || bytes + next > chunkBytes) break;
    bytes += next;
  }
  return end;
}

function sumOf(blockBytes: Float64Array, first: number, end: number): number {
  let sum = 0;
  for (let block = first; block < end; block++) sum += floatAt(blockBytes, block);
  return sum;
}

class PlanWriter {
  readonly #turn: WeightedTurn;
  readonly #plan;
  #index = 0;

  constructor(blockBytes: Float64Array, chunkCount: number, weights: readonly number[]) {
    this.#turn = new WeightedTurn(weights);
    this.#plan = {
      blockBytes,
      chunkCount,
      channels: new Uint8Array(chunkCount),
      blocks: new Uint32Array(chunkCount),
      blockCounts: new Uint32Array(chunkCount),
      blockOffsets: new Float64Array(chunkCount),
      bytes: new Float64Array(chunkCount),
      channelChunks: new Uint32Array(weights.length),
      channelBytes: new Float64Array(weights.length),
    };
  }

  add(block: number, blockCount: number, offset: number, bytes: number): void {
    const plan = this.#plan;
    const index = this.#index++;
    const channel = this.#turn.next();
    plan.channels[index] = channel;
    plan.blocks[index] = block;
    plan.blockCounts[index] = blockCount;
    plan.blockOffsets[index] = offset;
    plan.bytes[index] = bytes;
    plan.channelChunks[channel] = wordAt(plan.channelChunks, channel) + 1;
    plan.channelBytes[channel] = floatAt(plan.channelBytes, channel) + bytes;
  }

  finish(): MatchedPlan {
    const totalBytes = this.#plan.channelBytes.reduce((sum, bytes) => sum + bytes, 0);
    return { ...this.#plan, totalBytes };
  }
}

/** Differs when channel, blocks or length of any chunk do: compared before data moves. */
export function planDigest(plan: MatchedPlan): number {
  let digest = 0x811c9dc5;
  for (let index = 0; index < plan.chunkCount; index++) {
    digest = Math.imul(digest ^ byteAt(plan.channels, index), 0x01000193);
    digest = Math.imul(digest ^ wordAt(plan.blockCounts, index), 0x01000193);
    digest = Math.imul(digest ^ floatAt(plan.bytes, index), 0x01000193);
  }
  return digest >>> 0;
}

function countChunks(blockBytes: Float64Array, limits: Limits): number {
  const { chunkBytes, gatherBytes } = limits;
  if (!Number.isSafeInteger(chunkBytes) || chunkBytes <= 0) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', `chunk plan: chunk of ${chunkBytes} bytes`);
  }
  if (!Number.isSafeInteger(gatherBytes) || gatherBytes < 0 || gatherBytes > chunkBytes) {
    throw new TcpxError(
      'ERR_USAGE_ARGUMENT',
      `chunk plan: blocks up to ${gatherBytes} bytes gathered in chunks of ${chunkBytes}`,
    );
  }
  for (const bytes of blockBytes) {
    if (Number.isSafeInteger(bytes) && bytes >= 0) continue;
    throw new TcpxError('ERR_USAGE_ARGUMENT', `chunk plan: block of ${bytes} bytes`);
  }
  let count = 0;
  for (let block = 0; block < blockBytes.length; ) {
    const end = gatheredEnd(blockBytes, block, limits);
    count += Math.ceil(sumOf(blockBytes, block, end) / chunkBytes);
    block = end;
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
      const credit = at(this.#credits, channel) + at(this.#weights, channel);
      this.#credits[channel] = credit;
      const isOpen = at(this.#weights, channel) > 0;
      if (isOpen && (best < 0 || credit > at(this.#credits, best))) best = channel;
    }
    assert(best >= 0, 'a channel has a weight above 0');
    this.#credits[best] = at(this.#credits, best) - this.#sum;
    return best;
  }
}
