// What the reader of a stream can take: how many columns, and whether colours.

import { type Environment, processEnvironment } from '../base/config.js';

export interface OutputStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  hasColors?(): boolean;
}

const COLUMNS_MIN = 20;
/** A terminal that does not tell its width. */
const COLUMNS_UNTOLD = 80;

/** COLUMNS where set, else the terminal's; a pipe or a file takes lines of any width. */
export function columnsOf(
  stream: OutputStream,
  environment: Environment = processEnvironment(),
): number {
  const named = Number(environment['COLUMNS'] ?? '');
  if (Number.isInteger(named) && named > 0) return Math.max(named, COLUMNS_MIN);
  if (stream.isTTY !== true) return Number.POSITIVE_INFINITY;
  const { columns = 0 } = stream;
  return columns === 0 ? COLUMNS_UNTOLD : Math.max(columns, COLUMNS_MIN);
}

/** On a terminal that has them; Node itself obeys NO_COLOR, FORCE_COLOR and TERM=dumb. */
export function isColoured(stream: OutputStream): boolean {
  return stream.isTTY === true && stream.hasColors?.() === true;
}

const STYLES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
} as const;

export type Style = keyof typeof STYLES;

export function paint(style: Style, text: string): string {
  const [on, off] = STYLES[style];
  return `\u001b[${on}m${text}\u001b[${off}m`;
}

const STYLE_OF_WORD: Readonly<Record<string, Style>> = {
  pass: 'green',
  proven: 'green',
  verified: 'green',
  warn: 'yellow',
  requested: 'yellow',
  differs: 'yellow',
  fail: 'red',
  failed: 'red',
  refused: 'red',
  skip: 'dim',
};
const VERDICT = /^(?:pass|proven|verified|warn|requested|differs|failed|fail|refused|skip)\b/gm;
const ALARM = /\b(?:WRONG|PROBLEM|NOT(?= [a-zA-Z]))\b|^ERR_[A-Z_]+(?=:)/gm;

/** Verdicts at the beginning of a line, and words in capitals that must not be overlooked. */
export function paintVerdicts(text: string): string {
  return text
    .replace(VERDICT, (word) => paint(STYLE_OF_WORD[word] ?? 'bold', word))
    .replace(ALARM, (word) => paint('red', word));
}
