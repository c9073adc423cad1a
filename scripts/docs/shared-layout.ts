// docs/shared-layout.md from the offsets that the main thread and the lanes import.

import {
  CHUNK_BYTES,
  CHUNK_FIRST_PAIR,
  CHUNK_PAIR_COUNT,
  CHUNK_REMOTE_INDEX,
  CHUNK_SKIP,
  PAIR_BYTES,
  PAIR_LOCAL_ADDR,
  PAIR_REMOTE_INDEX,
  PAIR_REMOTE_OFFSET,
  REMOTE_GENERATION,
  REMOTE_KEY,
  REMOTE_SLOT,
  REQUEST_ENTRY_BYTES,
} from '../../src/flow/request-layout.js';
import * as layout from '../../src/provider/tcp/lane/layout.js';
import { RECORD_HEADER_BYTES } from '../../src/os/record-ring.js';
import { REGION_ENTRY_BYTES, REGION_ENTRY_LAYOUT } from '../../src/memory/region-table.js';
import { GENERATED_NOTE, markdownTable } from './markdown-table.js';
import { renderRecords } from './shared-records.js';

interface Word {
  readonly name: string;
  readonly offset: number;
  readonly writer: string;
  readonly meaning: string;
}

const SOURCES = 'src/provider/tcp/lane, src/memory/region-table.ts and src/flow/request-layout.ts';
const WORD = 4;
const FLOAT = 8;

export function renderSharedLayout(): string {
  return [
    '# Shared memory',
    '',
    GENERATED_NOTE(SOURCES),
    'The main thread and the lanes talk through one mapping. The engine maps it at start; each',
    'lane views the same bytes by address. Every word has one writer, unless the table says',
    'otherwise. In the engine block, the lane control and the ring headers, words of different',
    'writers lie 128 bytes apart, so that they do not fight over a cache line. Offsets are in',
    'bytes from the start of the block or entry; a word has 32 bits unless it says float64.',
    '',
    renderBlocks(),
    section('Engine block', layout.ENGINE_BLOCK_BYTES, ENGINE_WORDS),
    section('Region entry', REGION_ENTRY_BYTES, REGION_ENTRY_LAYOUT),
    section('Transfer entry', layout.TRANSFER_BYTES, layout.TRANSFER_LAYOUT),
    renderFailures(),
    section('Lane control', layout.LANE_CONTROL_BYTES, LANE_WORDS),
    section('Ring header', layout.RING_HEADER_BYTES, RING_WORDS),
    renderRecords(RECORD_HEADER_BYTES),
    renderRequest(),
  ].join('\n');
}

function section(title: string, bytes: number, words: readonly Word[]): string {
  return `## ${title}\n\n${bytes.toLocaleString('en')} bytes.\n\n${wordTable(words)}`;
}

function wordTable(words: readonly Word[]): string {
  return markdownTable(
    ['offset', 'name', 'written by', 'meaning'],
    words.map((word) => [String(word.offset), `\`${word.name}\``, word.writer, word.meaning]),
  );
}

function renderBlocks(): string {
  const ring = (bytes: number): string => `${layout.RING_HEADER_BYTES} + ${bytes / 1024} KiB`;
  const rows = [
    ['engine', `${layout.ENGINE_BLOCK_BYTES}`, 'words about the whole engine'],
    ['regions', `\`memory.regionsMax\` × ${REGION_ENTRY_BYTES}`, 'what peers may reach'],
    ['transfers', `\`memory.transfersMax\` × ${layout.TRANSFER_BYTES}`, 'one entry per post'],
    ['lane control', `${layout.LANE_CONTROL_BYTES}, once per lane`, 'sleep, stop, counters'],
    ['command ring', `${ring(layout.COMMAND_RING_BYTES)}, once per lane`, 'main → lane'],
    ['event ring', `${ring(layout.EVENT_RING_BYTES)}, once per lane`, 'lane → main'],
    ['arena', '`memory.arenaBytes`', 'prepared requests and notifications'],
  ];
  const heading = ['block, in this order', 'bytes', 'holds'];
  return (
    `${markdownTable(heading, rows)}\n` +
    'Transfers, lanes and the arena start on a page. Control words and both rings of one lane\n' +
    'lie together. The mapping is reserved, not resident: a page costs memory once touched.\n'
  );
}

const ENGINE_WORDS: readonly Word[] = [
  {
    name: 'mainSleeps',
    offset: layout.ENGINE_MAIN_SLEEPS * WORD,
    writer: 'main, and the lane that wakes it (atomic exchange)',
    meaning: '1 while the main thread wants a byte in its pipe',
  },
  {
    name: 'finished',
    offset: layout.ENGINE_FINISHED * WORD,
    writer: 'lanes (atomic add)',
    meaning: 'counts finished transfers; a blocking wait sleeps on it (futex)',
  },
  {
    name: 'waiters',
    offset: layout.ENGINE_WAITERS * WORD,
    writer: 'waiting threads (atomic)',
    meaning: 'threads that sleep on `finished`',
  },
];

const LANE_WORDS: readonly Word[] = [
  {
    name: 'sleeps',
    offset: layout.LANE_SLEEPS * WORD,
    writer: 'the lane, and main when it rings (atomic exchange)',
    meaning: '1 while the lane sleeps in epoll and wants its doorbell rung',
  },
  {
    name: 'stop',
    offset: layout.LANE_STOP * WORD,
    writer: 'main',
    meaning: '1: leave the loop',
  },
  { name: 'turns', offset: layout.LANE_TURNS * FLOAT, writer: 'lane', meaning: 'float64 counter' },
  {
    name: 'sleepCount',
    offset: layout.LANE_SLEEP_COUNT * FLOAT,
    writer: 'lane',
    meaning: 'float64: how often the lane went to sleep',
  },
  {
    name: 'lastCpu',
    offset: layout.LANE_LAST_CPU * FLOAT,
    writer: 'lane',
    meaning: 'float64: CPU on which the lane started',
  },
  {
    name: 'drained',
    offset: layout.LANE_DRAINED * FLOAT,
    writer: 'lane',
    meaning: 'float64, bytes that came and were thrown away',
  },
];

const RING_WORDS: readonly Word[] = [
  { name: 'tail', offset: 0, writer: 'the writing side', meaning: 'bytes published, mod 2^32' },
  { name: 'head', offset: 128, writer: 'the reading side', meaning: 'bytes released, mod 2^32' },
];

function renderFailures(): string {
  const meanings: readonly (readonly [number, string])[] = [
    [layout.FAIL_STALE, 'the peer refused: no such registration'],
    [layout.FAIL_KEY, 'the peer refused: wrong key'],
    [layout.FAIL_RIGHTS, 'the peer refused: the region does not grant the operation'],
    [layout.FAIL_BOUNDS, 'the peer refused: beyond the region'],
    [layout.FAIL_CHANNEL, 'a channel or the session was lost'],
    [layout.FAIL_CANCELLED, 'cancelled, or the deadline passed'],
  ];
  const rows = meanings.map(([value, meaning]) => [String(value), meaning]);
  return `Values of \`failure\`:\n\n${markdownTable(['value', 'meaning'], rows)}`;
}

function renderRequest(): string {
  const main = 'main, once';
  const word = (name: string, index: number, meaning: string): Word => {
    return { name, offset: index * WORD, writer: main, meaning };
  };
  const float = (name: string, index: number, meaning: string): Word => {
    return { name, offset: index * FLOAT, writer: main, meaning: `float64: ${meaning}` };
  };
  const remotes = [
    word('slot', REMOTE_SLOT, 'entry in the region table of the peer'),
    word('generation', REMOTE_GENERATION, 'which registration of that entry'),
    word('key', REMOTE_KEY, '16 bytes, as the peer handed them out'),
  ];
  const pairs = [
    float('localAddr', PAIR_LOCAL_ADDR, 'first byte in memory of this process'),
    float('remoteOffset', PAIR_REMOTE_OFFSET, 'place in the region of the peer'),
    float('bytes', PAIR_BYTES, 'length'),
    float('remoteIndex', PAIR_REMOTE_INDEX, 'which remote region of this request'),
  ];
  const chunks = [
    word('firstPair', CHUNK_FIRST_PAIR, 'first descriptor pair of the chunk'),
    word('pairCount', CHUNK_PAIR_COUNT, 'pairs that it touches'),
    word('bytes', CHUNK_BYTES, 'bytes that it moves'),
    word('remoteIndex', CHUNK_REMOTE_INDEX, 'which remote region'),
    float('skip', CHUNK_SKIP, 'bytes of the first pair that earlier chunks carry'),
  ];
  return [
    '## Prepared request',
    '',
    `Three lists in the arena, one behind the other; every entry has ${REQUEST_ENTRY_BYTES} bytes.`,
    'Written when the request is prepared, read by lanes for every post.',
    '',
    `Remote region:\n\n${wordTable(remotes)}`,
    `Descriptor pair:\n\n${wordTable(pairs)}`,
    `Chunk:\n\n${wordTable(chunks)}`,
  ].join('\n');
}
