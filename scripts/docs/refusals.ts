// The reasons of a REFUSE frame, for docs/protocol.md.

import { REFUSALS } from '../../src/base/failure.js';
import { markdownTable } from './markdown-table.js';

export function renderRefusals(): string {
  return markdownTable(
    ['reason', 'meaning', 'error of the initiator'],
    REFUSALS.map(({ number, code, meaning = '' }) => [String(number), meaning, `\`${code}\``]),
  );
}
