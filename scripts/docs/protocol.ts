// The frame tables of docs/protocol.md: fields from src/wire, bytes from the golden vectors.

import { CONTROL_HEAD_FIELDS } from '../../src/wire/control-frame.js';
import { DATA_HEAD_FIELDS, TABLE_ENTRY_FIELDS } from '../../src/wire/data-frame.js';
import { FRAME_RULES } from '../../src/wire/data-frame-rules.js';
import { CONTROL_LOST_FIELDS, FENCE_FIELDS } from '../../src/wire/fence-signal.js';
import type { FrameField } from '../../src/wire/frame-fields.js';
import { MATCH_HEAD_FIELDS } from '../../src/wire/match-frame.js';
import { CONTROL_VECTORS, type ControlVector } from '../../src/wire/vectors/control-vectors.js';
import { bytesOfHex, DATA_VECTORS, type DataVector } from '../../src/wire/vectors/data-vectors.js';
import { markdownTable } from './markdown-table.js';

export function renderFrames(): string {
  return [
    '### Head of a control frame',
    '',
    fieldTable(CONTROL_HEAD_FIELDS),
    ...CONTROL_VECTORS.map(renderControl),
    '### Head of a data frame',
    '',
    fieldTable(DATA_HEAD_FIELDS),
    '### Entry of a descriptor table',
    '',
    fieldTable(TABLE_ENTRY_FIELDS),
    ...DATA_VECTORS.map(renderData),
    '### FENCE, the payload of a SIGNAL',
    '',
    fieldTable(FENCE_FIELDS),
    '### CONTROL_LOST, the payload of a SIGNAL',
    '',
    fieldTable(CONTROL_LOST_FIELDS),
    '### Head of a match frame',
    '',
    fieldTable(MATCH_HEAD_FIELDS),
    '### Rules of data frames',
    '',
    'The receiver closes the session with the number and the text of the rule that was broken.',
    '',
    markdownTable(['number', 'rule'], Object.entries(FRAME_RULES)),
  ].join('\n');
}

function fieldTable(fields: readonly FrameField[]): string {
  return markdownTable(
    ['offset', 'bytes', 'field', 'meaning'],
    fields.map(({ offset, bytes, name, meaning }) => [`${offset}`, `${bytes}`, name, meaning]),
  );
}

function renderControl(vector: ControlVector): string {
  const body = [];
  let offset = 0;
  for (const field of vector.body) {
    body.push({ ...field, offset });
    offset += field.bytes;
  }
  return [
    `### ${vector.name}`,
    '',
    `${capitalise(vector.direction)}. Kind ${vector.message.kind}; behind the head:`,
    '',
    fieldTable(body),
    'Golden bytes:',
    '',
    hexBlock(vector.hex),
  ].join('\n');
}

function renderData(vector: DataVector): string {
  const kind = vector.values['kind'] ?? 0;
  return [
    `### Example: ${vector.name}`,
    '',
    `Kind ${kind}: ${vector.about}.`,
    '',
    hexBlock(vector.hex),
  ].join('\n');
}

/** Sixteen bytes a line, each line with its offset. */
export function hexBlock(hex: string): string {
  const bytes = [...bytesOfHex(hex)].map((byte) => byte.toString(16).padStart(2, '0'));
  const lines: string[] = [];
  for (let offset = 0; offset < bytes.length; offset += 16) {
    const row = bytes.slice(offset, offset + 16).join(' ');
    lines.push(`${offset.toString().padStart(4)}  ${row}`);
  }
  return `\`\`\`text\n${lines.join('\n')}\n\`\`\`\n`;
}

function capitalise(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
