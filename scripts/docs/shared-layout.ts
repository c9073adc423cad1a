// docs/shared-layout.md: every block of the table that the main thread and the lanes take their
// indexes from, field by field.

import { FAIL_CANCELLED, FAIL_DEADLINE, FAILURES, failureOf } from '../../src/base/failure.js';
import { fieldBytes, type SharedBlock, type SharedField } from '../../src/base/shared-block.js';
import {
  CHUNK_BLOCK,
  ENGINE_BLOCK,
  LANE_BLOCK,
  PAIR_BLOCK,
  REGION_BLOCK,
  REMOTE_BLOCK,
  RING_BLOCK,
  SESSION_BLOCK,
  TRANSFER_BLOCK,
} from '../../src/base/shared-layout.js';
import { RECORD_HEADER_BYTES } from '../../src/os/record-ring.js';
import { COMMAND_RING_BYTES, EVENT_RING_BYTES } from '../../src/provider/tcp/lane/layout.js';
import { GENERATED_NOTE, markdownTable } from './markdown-table.js';
import { renderRecords } from './shared-records.js';

/** To a lane, a deadline that has passed is a cancel. */
const DEADLINE = failureOf(FAIL_DEADLINE);

const SOURCES = 'src/base/shared-layout.ts, src/base/failure.ts and src/provider/tcp/lane';

export function renderSharedLayout(): string {
  return [
    '# Shared memory',
    '',
    GENERATED_NOTE(SOURCES),
    'The main thread and the lanes talk through one mapping. The engine maps it at start; each',
    'lane views the same bytes by address. Every word has one writer, unless the table says',
    'otherwise. In the engine block, the lane control and the ring headers, words of different',
    'writers lie 128 bytes apart, so that they do not fight over a cache line. Offsets are in',
    'bytes from the start of the block or entry.',
    '',
    renderBlocks(),
    section(ENGINE_BLOCK),
    section(REGION_BLOCK),
    section(TRANSFER_BLOCK),
    renderFailures(),
    section(SESSION_BLOCK),
    section(LANE_BLOCK),
    section(RING_BLOCK),
    renderRecords(RECORD_HEADER_BYTES),
    renderRequest(),
  ].join('\n');
}

function section(block: SharedBlock): string {
  const { title, bytes } = block;
  return `## ${title}\n\n${bytes.toLocaleString('en')} bytes.\n\n${fieldTable(block)}`;
}

function fieldTable({ fields }: SharedBlock): string {
  return markdownTable(
    ['offset', 'name', 'type', 'written by', 'meaning'],
    Object.entries(fields).map(([name, field]) => [
      String(field.offset),
      `\`${name}\``,
      typeText(field),
      field.writer,
      field.meaning,
    ]),
  );
}

function typeText(field: SharedField): string {
  const { type, count = 1 } = field;
  return count === 1 ? type : `${count} ${type}, ${fieldBytes(field)} bytes`;
}

function renderBlocks(): string {
  const ring = (bytes: number): string => `${RING_BLOCK.bytes} + ${bytes / 1024} KiB`;
  const rows = [
    ['engine', `${ENGINE_BLOCK.bytes}`, 'words about the whole engine'],
    ['regions', `\`memory.regionsMax\` × ${REGION_BLOCK.bytes}`, 'what peers may reach'],
    ['transfers', `\`memory.transfersMax\` × ${TRANSFER_BLOCK.bytes}`, 'one entry per post'],
    ['lane control', `${LANE_BLOCK.bytes}, once per lane`, 'sleep, stop, counters'],
    ['command ring', `${ring(COMMAND_RING_BYTES)}, once per lane`, 'main → lane'],
    ['event ring', `${ring(EVENT_RING_BYTES)}, once per lane`, 'lane → main'],
    ['arena', '`memory.arenaBytes`', 'prepared requests and notifications'],
  ];
  const heading = ['block, in this order', 'bytes', 'holds'];
  return (
    `${markdownTable(heading, rows)}\n` +
    'Transfers, lanes and the arena start on a page. Control words and both rings of one lane\n' +
    'lie together. The mapping is reserved, not resident: a page costs memory once touched.\n'
  );
}

function renderFailures(): string {
  const stored = FAILURES.filter(({ number }) => number !== FAIL_DEADLINE);
  const rows = stored.map(({ number, code, text, refused }) => [
    String(number),
    number === FAIL_CANCELLED ? `\`${code}\`, \`${DEADLINE.code}\`` : `\`${code}\``,
    refused === undefined ? text : `the peer refused: ${text}`,
  ]);
  return `Values of \`failure\`:\n\n${markdownTable(['value', 'error', 'meaning'], rows)}`;
}

function renderRequest(): string {
  const lists = [REMOTE_BLOCK, PAIR_BLOCK, CHUNK_BLOCK];
  return [
    '## Prepared request',
    '',
    `Three lists in the arena, one behind the other; every entry has ${CHUNK_BLOCK.bytes} bytes.`,
    'Written when the request is prepared, read by lanes for every post.',
    '',
    ...lists.map((block) => `${block.title}:\n\n${fieldTable(block)}`),
  ].join('\n');
}
