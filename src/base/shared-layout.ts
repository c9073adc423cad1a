// The memory that the main thread and the lanes share: every block with every field, in one place.
// The files that use a block take their indexes from here, and docs/shared-layout.md prints it. One
// writer per field unless it says atomic.
//
//   ┌──────────┬─────────┬───────────┬──────────┬───────────────────────────┬───────────┐
//   │ engine   │ regions │ transfers │ sessions │ lanes × (control + rings) │ arena     │
//   │ 4 K      │ × 64    │ × 512     │ × 1 K    │                           │ (requests)│
//   └──────────┴─────────┴───────────┴──────────┴───────────────────────────┴───────────┘

import { declareBlock, type SharedField } from './shared-block.js';

/** Channels of a session, and so places for their counters. */
export const CHANNELS_MAX = 16;
/** Counters of each channel's sends by reference. */
export const ZERO_COPY_COUNTERS = 4;

function int32(offset: number, writer: string, meaning: string, count = 1): SharedField {
  return { type: 'int32', offset, count, writer, meaning };
}

function float64(offset: number, writer: string, meaning: string, count = 1): SharedField {
  return { type: 'float64', offset, count, writer, meaning };
}

export const ENGINE_BLOCK = declareBlock(
  { title: 'Engine block', bytes: 4096, isSpread: true },
  {
    mainSleeps: int32(
      0,
      'main, and the lane that wakes it (atomic exchange)',
      '1 while the main thread wants a byte in its pipe',
    ),
    finished: int32(
      128,
      'lanes (atomic add)',
      'counts finished transfers; a blocking wait sleeps on it (futex)',
    ),
    waiters: int32(256, 'waiting threads (atomic)', 'threads that sleep on `finished`'),
    notifications: int32(
      384,
      'lanes (atomic add)',
      'counts notifications of all lanes, so that main can hand them on as they landed',
    ),
  },
);

export const REGION_BLOCK = declareBlock(
  { title: 'Region entry', bytes: 64 },
  {
    generation: int32(0, 'main', '0 free, g registered, −g being deregistered'),
    users: int32(4, 'main and lanes (atomic add)', 'accesses in progress'),
    rights: int32(8, 'main', '1 read, 2 write'),
    device: int32(12, 'main', '0 host memory, n + 1 memory of GPU n'),
    key: int32(16, 'main', '16 random bytes', 4),
    addr: float64(32, 'main', 'first byte'),
    bytes: float64(40, 'main', 'length'),
    expiry: float64(48, 'main', 'microseconds of the process clock; 0 never'),
  },
);

const LANES_ADD = 'lanes (atomic add)';
const ARENA = 'in the arena, in bytes from its start';

export const TRANSFER_BLOCK = declareBlock(
  { title: 'Transfer entry', bytes: 512 },
  {
    state: int32(0, 'main, then the finishing lane', '0 free, 1 active, 2 done, 3 failed'),
    generation: int32(4, 'main', 'counts uses of the entry'),
    operation: int32(8, 'main', '1 write, 2 read, 3 signal'),
    session: int32(12, 'main', 'session index'),
    chunkCount: int32(16, 'main', 'chunks of the request'),
    notifyBytes: int32(20, 'main', 'length of the notification, −1 without one'),
    failure: int32(24, 'lanes (atomic, first wins)', 'why it failed, or 0'),
    retries: int32(28, LANES_ADD, 'chunks and notifications sent again'),
    notifyFramed: int32(
      32,
      'main, then lanes',
      '1 once the notification is on its way or given up',
    ),
    damaged: int32(36, LANES_ADD, 'chunks whose checksum was wrong; sent again'),
    damagedOn: int32(40, 'lanes', '1 + the channel of the last one'),
    staged: int32(44, 'main', '1 when GPU memory is at either end: stage times are kept'),
    sourceDevice: int32(
      48,
      'main, then lanes (atomic)',
      'GPU + 1 of the event to wait for before the source is read; 0 without one, or after it',
    ),
    notified: int32(52, 'lanes', '1 once the peer has confirmed the notification'),
    even: int32(
      56,
      'main',
      '1 when every channel of the session pulls, each over a NIC of its own: none takes more ' +
        'than its share',
    ),
    copied: int32(
      60,
      'main',
      '1: payload that may go by reference, or past the cache, is copied, at either end',
    ),
    remotesAt: float64(64, 'main', `remote regions ${ARENA}`),
    pairsAt: float64(72, 'main', `descriptor pairs ${ARENA}`),
    chunksAt: float64(80, 'main', `chunks ${ARENA}`),
    notifyAt: float64(88, 'main', `the notification ${ARENA}`),
    sourceEvent: float64(96, 'main', 'handle of the event'),
    byTurns: int32(
      104,
      'main',
      '1: of a lane’s channels of the session one pulls, another for each transfer',
    ),
    claim: int32(128, LANES_ADD, 'next chunk that nobody has claimed'),
    holders: int32(
      132,
      'main and lanes (atomic)',
      'lanes that may still look at the entry; it is used again at 0',
    ),
    remaining: int32(192, 'lanes (atomic sub)', 'unconfirmed chunks, notification included'),
    channelBytes: float64(256, 'lane of the channel', 'bytes per channel', CHANNELS_MAX),
    channelChunks: int32(384, 'lane of the channel', 'chunks per channel', CHANNELS_MAX),
    copyOutUs: int32(448, LANES_ADD, 'GPU → staging; these five sum over chunks and wrap'),
    sendUs: int32(452, LANES_ADD, 'framed → confirmed'),
    receiveUs: int32(456, LANES_ADD, 'asked → received'),
    copyInUs: int32(460, LANES_ADD, 'staging → GPU'),
    peerCopyUs: int32(464, LANES_ADD, 'between GPU and staging at the peer, as the peer tells'),
  },
);

/** Of a channel within the entry of its session: a line of its own, as another lane may read it. */
export const CHANNEL_LINE_BYTES = 64;

export const SESSION_BLOCK = declareBlock(
  { title: 'Session entry', bytes: CHANNELS_MAX * CHANNEL_LINE_BYTES },
  {
    channels: float64(
      0,
      'lane of the channel',
      'two per line of 64 bytes, a line per channel: what it delivers, in bytes per µs (0 no ' +
        'channel, −1 not known yet), and what it has in flight, in bytes',
      (CHANNELS_MAX * CHANNEL_LINE_BYTES) / 8,
    ),
  },
);

export const LANE_BLOCK = declareBlock(
  { title: 'Lane control', bytes: 4096, isSpread: true },
  {
    sleeps: int32(
      0,
      'the lane, and main when it rings (atomic exchange)',
      '1 while the lane sleeps in epoll and wants its doorbell rung',
    ),
    stop: int32(128, 'main', '1: leave the loop'),
    turns: float64(512, 'lane', 'counts turns'),
    sleepCount: float64(520, 'lane', 'how often the lane went to sleep'),
    lastCpu: float64(528, 'lane', 'CPU on which the lane was seen last'),
    drained: float64(
      536,
      'lane',
      'bytes that came and were thrown away: of refused writes, and of reads given up meanwhile',
    ),
    pauses: float64(544, 'lane', 'how often the collector of memory stopped the lane'),
    pausedUs: float64(552, 'lane', 'for how long in all, µs'),
    longestPauseUs: float64(560, 'lane', 'the longest of them, µs'),
    memoryNode: float64(
      568,
      'lane',
      'NUMA node on which its memory lies, and one more; 0 where it is left to the kernel',
    ),
    zeroCopy: float64(
      1024,
      'lane',
      `${ZERO_COPY_COUNTERS} per channel: calls by reference, of them sent so, of them copied ` +
        'after all, calls that had to be copied',
      CHANNELS_MAX * ZERO_COPY_COUNTERS,
    ),
  },
);

export const RING_BLOCK = declareBlock(
  { title: 'Ring header', bytes: 256, isSpread: true },
  {
    tail: int32(0, 'the writing side', 'bytes published, mod 2^32'),
    head: int32(128, 'the reading side', 'bytes released, mod 2^32'),
  },
);

/** Of the three lists of a prepared request; every entry has as many bytes. */
const ENTRY_BYTES = 32;
const ONCE = 'main, once';

export const REMOTE_BLOCK = declareBlock(
  { title: 'Remote region', bytes: ENTRY_BYTES },
  {
    slot: int32(0, ONCE, 'entry in the region table of the peer'),
    generation: int32(4, ONCE, 'which registration of that entry'),
    key: int32(8, ONCE, '16 bytes, as the peer handed them out', 4),
    localDevice: int32(
      24,
      ONCE,
      'where the local half of its pairs lies: 0 host memory, n + 1 GPU n',
    ),
  },
);

export const PAIR_BLOCK = declareBlock(
  { title: 'Descriptor pair', bytes: ENTRY_BYTES },
  {
    localAddr: float64(0, ONCE, 'first byte in memory of this process'),
    remoteOffset: float64(8, ONCE, 'place in the region of the peer'),
    bytes: float64(16, ONCE, 'length'),
    remoteIndex: float64(24, ONCE, 'which remote region of this request'),
  },
);

export const CHUNK_BLOCK = declareBlock(
  { title: 'Chunk', bytes: ENTRY_BYTES },
  {
    firstPair: int32(0, ONCE, 'first descriptor pair of the chunk'),
    pairCount: int32(4, ONCE, 'pairs that it touches'),
    bytes: int32(8, ONCE, 'bytes that it moves'),
    remoteIndex: int32(12, ONCE, 'which remote region'),
    left: float64(16, ONCE, 'bytes of this chunk and all behind it'),
    skip: float64(24, ONCE, 'bytes of the first pair that earlier chunks carry'),
  },
);
