// Matched transfers as docs/protocol.md describes them: the body of a PLAN, the chunks that both
// ends derive from it, and their digest. Nothing of src/ is imported.

import type { PageRegion } from './page-peer.js';

export const MATCH = {
  HELLO: 1,
  JOINED: 2,
  PLAN: 3,
  ANNOUNCE: 4,
  READ: 5,
  GO: 6,
  LANDED: 7,
  REFUSE: 8,
  DOWN: 9,
  FENCED: 10,
};
export const FLAG = { read: 1, notification: 2, paced: 4 };
export const MATCH_INDEX = 0xfffffffe;
const GATHERED_MAX = 1024;

export interface PageBlock {
  /** Index into the regions of the plan. */
  readonly region: number;
  readonly offset: number;
  readonly bytes: number;
}

export interface PagePlan {
  readonly chunkBytes: number;
  readonly gatherBytes: number;
  readonly weights: readonly number[];
  readonly regions: readonly PageRegion[];
  readonly blocks: readonly PageBlock[];
}

function numbers(values: readonly number[], bytes: 2 | 4): Buffer {
  const out = Buffer.alloc(values.length * bytes);
  for (const [index, value] of values.entries()) out.writeUIntLE(value, index * bytes, bytes);
  return out;
}

function floats(values: readonly number[]): Buffer {
  const out = Buffer.alloc(values.length * 8);
  for (const [index, value] of values.entries()) out.writeDoubleLE(value, index * 8);
  return out;
}

export function planBody({ regions, blocks, ...plan }: PagePlan): Buffer {
  const head = Buffer.concat([
    numbers([plan.chunkBytes, plan.gatherBytes], 4),
    numbers([plan.weights.length, ...plan.weights], 2),
    numbers([regions.length], 4),
    ...regions.map(({ slot, generation, key }) =>
      Buffer.concat([numbers([slot, generation], 4), Buffer.from(key, 'hex')]),
    ),
    numbers([blocks.length, ...blocks.map(({ region }) => region)], 4),
  ]);
  return Buffer.concat([
    head,
    Buffer.alloc((8 - (head.length % 8)) % 8),
    floats(blocks.map(({ offset }) => offset)),
    floats(blocks.map(({ bytes }) => bytes)),
  ]);
}

export interface PageChunk {
  readonly channel: number;
  readonly blocks: number;
  readonly bytes: number;
}

/** How many blocks from `first` on share a message. */
function gathered({ blocks, gatherBytes, chunkBytes }: PagePlan, first: number): number {
  let sum = 0;
  let count = 0;
  for (const { bytes } of blocks.slice(first, first + GATHERED_MAX)) {
    if (bytes > gatherBytes || sum + bytes > chunkBytes) break;
    sum += bytes;
    count++;
  }
  return Math.max(1, count);
}

/** Rules 1 and 2. */
export function chunksOf(plan: PagePlan): PageChunk[] {
  const { blocks, weights, chunkBytes } = plan;
  const credits = weights.map(() => 0);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const nextChannel = (): number => {
    for (const [channel, weight] of weights.entries()) credits[channel]! += weight;
    const best = Math.max(...credits.filter((_, channel) => weights[channel] !== 0));
    const winner = credits.findIndex((one, channel) => one === best && weights[channel] !== 0);
    credits[winner]! -= total;
    return winner;
  };
  const chunks: PageChunk[] = [];
  for (let first = 0; first < blocks.length; ) {
    const count = gathered(plan, first);
    const taken = blocks.slice(first, first + count);
    let left = taken.reduce((sum, { bytes }) => sum + bytes, 0);
    for (; left > 0; left -= chunkBytes) {
      const bytes = Math.min(left, chunkBytes);
      chunks.push({ channel: nextChannel(), blocks: count, bytes });
    }
    first += count;
  }
  return chunks;
}

/** Rule 3. */
export function digestOf(chunks: readonly PageChunk[]): number {
  let digest = 0x811c9dc5;
  for (const { channel, blocks, bytes } of chunks) {
    for (const value of [channel, blocks, bytes]) {
      digest = Math.imul(digest ^ value, 0x01000193) >>> 0;
    }
  }
  return digest;
}

/** The two texts of REFUSE, DOWN and FENCED. */
export function textsOf(body: Buffer): readonly [string, string] {
  const codeEnd = 2 + body.readUInt16LE(0);
  const reasonEnd = codeEnd + 2 + body.readUInt16LE(codeEnd);
  if (reasonEnd !== body.length) throw new Error('something is behind the reason');
  return [body.toString('utf8', 2, codeEnd), body.toString('utf8', codeEnd + 2)];
}

export function textsBody(...texts: readonly string[]): Buffer {
  return Buffer.concat(
    texts.map((text) => Buffer.concat([numbers([Buffer.byteLength(text)], 2), Buffer.from(text)])),
  );
}
