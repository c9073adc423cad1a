// native/p2p/layout.h, which the C library is compiled with, and the tables of docs/service.md:
// both from the tables that the service takes its offsets from.

import * as layout from '../../src/base/service-layout.js';
import { SERVICE_STATUSES } from '../../src/base/service-status.js';
import { fieldBytes, type SharedBlock, type SharedField } from '../../src/base/shared-block.js';
import { RING_BLOCK } from '../../src/base/shared-layout.js';
import { markdownTable } from './markdown-table.js';

const C_TYPES = { int32: 'int32_t', uint64: 'uint64_t', uint8: 'uint8_t', float64: 'double' };

/** By the name of the structure in C. */
const BLOCKS: Readonly<Record<string, SharedBlock>> = {
  client_block: layout.CLIENT_BLOCK,
  ring_block: RING_BLOCK,
  request_entry: layout.REQUEST_BLOCK,
  peer_entry: layout.PEER_BLOCK,
  post_record: layout.POST_RECORD,
  cancel_record: layout.CANCEL_RECORD,
  notify_record: layout.NOTIFY_RECORD,
  notification_record: layout.NOTIFICATION_RECORD,
  message_head: layout.MESSAGE_HEAD,
  attach_message: layout.ATTACH_MESSAGE,
  attached_message: layout.ATTACHED_MESSAGE,
  register_message: layout.REGISTER_MESSAGE,
  block_row: layout.BLOCK_ROW,
};

const CONSTANTS: Readonly<Record<string, number>> = {
  SERVICE_VERSION: layout.SERVICE_VERSION,
  COMMAND_POST: layout.COMMAND_POST,
  COMMAND_CANCEL: layout.COMMAND_CANCEL,
  COMMAND_NOTIFY: layout.COMMAND_NOTIFY,
  EVENT_NOTIFICATION: layout.EVENT_NOTIFICATION,
  COMMAND_RING_DATA_BYTES: layout.COMMAND_RING_DATA_BYTES,
  EVENT_RING_DATA_BYTES: layout.EVENT_RING_DATA_BYTES,
  NOTIFICATION_BYTES_MAX: layout.SERVICE_NOTIFICATION_BYTES_MAX,
  MESSAGE_TEXT_BYTES_MAX: layout.MESSAGE_TEXT_BYTES_MAX,
  PREPARE_HEAD_BYTES: layout.PREPARE_HEAD_BYTES,
  WAY_COPIED: layout.MEMORY_WAYS.copied,
  WAY_SHARED: layout.MEMORY_WAYS.shared,
  WAY_IPC: layout.MEMORY_WAYS.ipc,
  WAY_VMM: layout.MEMORY_WAYS.vmm,
  WAY_POOL: layout.MEMORY_WAYS.pool,
  REGISTER_DESCRIPTORS_MAX: layout.REGISTER_DESCRIPTORS_MAX,
};

export function renderServiceHeader(): string {
  const kinds = Object.entries(layout.MESSAGE_KINDS).map(
    ([name, number]) => `  MESSAGE_${name} = ${number},`,
  );
  const constants = Object.entries(CONSTANTS).map(([name, value]) => `  ${name} = ${value},`);
  return [
    '// Generated from src/base/service-layout.ts by `npm run docs`; edit the tables there.',
    '#ifndef TCPX_P2P_LAYOUT_H',
    '#define TCPX_P2P_LAYOUT_H',
    '',
    '#include <stddef.h>',
    '#include <stdint.h>',
    '',
    `enum {\n${constants.join('\n')}\n};`,
    '',
    `enum {\n${kinds.join('\n')}\n};`,
    '',
    ...Object.entries(BLOCKS).map(([name, block]) => structureOf(name, block)),
    '#endif',
    '',
  ].join('\n');
}

function structureOf(name: string, block: SharedBlock): string {
  const lines: string[] = [];
  const checks = [`_Static_assert(sizeof(struct ${name}) == ${block.bytes}, "${block.title}");`];
  let end = 0;
  for (const [field, facts] of Object.entries(block.fields)) {
    lines.push(...padding(end, facts.offset), `  ${declaration(field, facts)}`);
    const place = `offsetof(struct ${name}, ${snake(field)})`;
    checks.push(`_Static_assert(${place} == ${facts.offset}, "${field}");`);
    end = facts.offset + fieldBytes(facts);
  }
  lines.push(...padding(end, block.bytes));
  return `struct ${name} {\n${lines.join('\n')}\n};\n${checks.join('\n')}\n`;
}

function padding(from: number, to: number): string[] {
  return from === to ? [] : [`  uint8_t pad_${from}[${to - from}];`];
}

function declaration(name: string, { type, count = 1 }: SharedField): string {
  const extent = count === 1 ? '' : `[${count}]`;
  return `${C_TYPES[type]} ${snake(name)}${extent};`;
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function renderServiceTables(): string {
  const sections = Object.values(BLOCKS).map((block) => {
    const rows = Object.entries(block.fields).map(([name, field]) => [
      String(field.offset),
      `\`${name}\``,
      (field.count ?? 1) === 1 ? field.type : `${field.count} ${field.type}`,
      field.writer,
      field.meaning,
    ]);
    const table = markdownTable(['offset', 'name', 'type', 'written by', 'meaning'], rows);
    return `**${block.title}**, ${block.bytes} bytes.\n\n${table}`;
  });
  return sections.join('\n');
}

export function renderServiceStatuses(): string {
  return markdownTable(
    ['name', 'number', 'meaning'],
    Object.entries(SERVICE_STATUSES).map(([name, { number, meaning }]) => [
      `\`TCPX_${name}\``,
      String(number),
      meaning,
    ]),
  );
}
