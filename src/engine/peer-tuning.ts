// What the distance of a peer makes of settings that nobody has set. Pure: a round trip and the
// kernel's limits in, a wish with reasons out.
//
// A connection moves no more per round trip than its window and the kernel's buffers hold. For near
// peers the defaults are far beyond that; for far ones the flight has to grow with the distance,
// over several connections where the buffers of one are too small.

import type { Agreement } from '../wire/control-frame.js';
import { isWishFirm, WISH_NO_FEWER, type Wish } from './agreement.js';

export interface PeerDistance {
  /** Of the control connection; undefined where nobody knows. */
  readonly roundTripUs: number | undefined;
  /** What the kernel lets one connection have in flight at most; undefined where nobody knows. */
  readonly bufferBytes: number | undefined;
}

export interface PeerWish {
  readonly wish: Wish;
  /** Why a value differs from what this end would have by itself. */
  readonly reasons: Partial<Readonly<Record<keyof Agreement, string>>>;
}

const MIB = 1024 * 1024;
/** Below it the defaults hold more than any path delivers meanwhile. */
export const FAR_US = 1000;
/** A path of 25 Gbit/s shall be full, in bytes per µs. */
const PATH_RATE = 3125;
/** The flight that the rate needs, and as much while acknowledgements are on their way. */
const FLIGHTS = 2;
/** What all senders may have on their way to a lane by default: more would not be granted. */
const FLIGHT_BYTES_MAX = 128 * MIB;
const CHANNELS_MAX = 8;
const CHUNK_BYTES_MAX = 4 * MIB;
const WINDOW_CHUNKS_MAX = 256;

export function tuneForPeer(wish: Wish, distance: PeerDistance): PeerWish {
  const { roundTripUs, bufferBytes } = distance;
  if (roundTripUs === undefined || roundTripUs < FAR_US) return { wish, reasons: {} };
  const away = `${formatMs(roundTripUs)} away`;
  const reasons: Partial<Record<keyof Agreement, string>> = {};
  const tuned = { channels: wish.channels, chunkBytes: wish.chunkBytes };
  const bytes = PATH_RATE * roundTripUs;
  let { windowChunks, explicit } = wish;
  if (!isWishFirm(wish, 'channels') && bufferBytes !== undefined) {
    const needed = Math.min(CHANNELS_MAX, Math.ceil(bytes / bufferBytes));
    if (needed > tuned.channels) {
      tuned.channels = needed;
      explicit |= WISH_NO_FEWER;
      reasons.channels = `auto: ${away}, and the kernel’s buffers hold ${formatMib(bufferBytes)}`;
    }
  }
  const flight = Math.min(FLIGHT_BYTES_MAX, FLIGHTS * bytes) / tuned.channels;
  if (!isWishFirm(wish, 'chunkBytes') && windowChunks * tuned.chunkBytes < flight) {
    tuned.chunkBytes = Math.min(CHUNK_BYTES_MAX, powerAbove(flight / windowChunks));
    reasons.chunkBytes = `auto: ${away}: a window holds ${formatMib(flight)}`;
  }
  if (!isWishFirm(wish, 'windowChunks') && windowChunks * tuned.chunkBytes < flight) {
    windowChunks = Math.min(WINDOW_CHUNKS_MAX, Math.ceil(flight / tuned.chunkBytes));
    reasons.windowChunks = `auto: ${away}: a window holds ${formatMib(flight)}`;
  }
  return { wish: { ...wish, ...tuned, windowChunks, explicit }, reasons };
}

function powerAbove(bytes: number): number {
  return 2 ** Math.ceil(Math.log2(bytes));
}

export function formatMs(us: number): string {
  return `${(us / 1000).toFixed(us < 10_000 ? 1 : 0)} ms`;
}

function formatMib(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}
