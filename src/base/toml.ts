// Reads the part of TOML that plans need: tables, arrays of tables, plain keys, strings, numbers,
// booleans and arrays. What it does not know is an error with its line, never a guess. Pure.

import { TcpxError } from './errors.js';

export type TomlValue = string | number | boolean | readonly TomlValue[] | TomlTable;
export interface TomlTable {
  readonly [key: string]: TomlValue;
}

type OpenTable = Record<string, TomlValue>;

const KEY = /^[A-Za-z0-9_-]+$/;
const TEXT_CHARS_MAX = 1024 * 1024;

export function parseToml(text: string, name: string): TomlTable {
  if (text.length > TEXT_CHARS_MAX) throw fault(name, 1, 'larger than 1 MiB');
  const root: OpenTable = newTable();
  let table = root;
  const lines = text.split(/\r?\n/);
  for (let index = 0; index < lines.length; index++) {
    const line = withoutComment(lines[index] ?? '').trim();
    if (line === '') continue;
    const number = index + 1;
    const heading = /^\[\[(.*)\]\]$/.exec(line)?.[1] ?? /^\[(.*)\]$/.exec(line)?.[1];
    if (heading !== undefined) {
      table = openTable(root, heading.trim(), line.startsWith('[['), () => fault(name, number));
      continue;
    }
    const equals = line.indexOf('=');
    const key = line.slice(0, Math.max(0, equals)).trim();
    if (!KEY.test(key)) throw fault(name, number, 'a line is KEY = VALUE, [TABLE] or [[TABLE]]');
    if (Object.hasOwn(table, key)) throw fault(name, number, `${key} is there already`);
    let value = line.slice(equals + 1).trim();
    while (isOpen(value) && index + 1 < lines.length) {
      index++;
      value = `${value} ${withoutComment(lines[index] ?? '').trim()}`;
    }
    const reader = new ValueReader(value, (reason) => fault(name, number, reason));
    table[key] = reader.readAll();
  }
  return root;
}

function newTable(): OpenTable {
  return Object.create(null) as OpenTable;
}

function openTable(
  root: OpenTable,
  path: string,
  isListed: boolean,
  wrong: () => TcpxError,
): OpenTable {
  const keys = path.split('.').map((key) => key.trim());
  const last = keys.pop() ?? '';
  if (![...keys, last].every((key) => KEY.test(key))) throw wrong();
  let table = root;
  for (const key of keys) {
    const known = table[key];
    const next = Array.isArray(known) ? (known as readonly TomlValue[]).at(-1) : known;
    if (typeof next !== 'object' || Array.isArray(next)) throw wrong();
    table = next as OpenTable;
  }
  const made = newTable();
  const known = table[last];
  if (!isListed) {
    if (known !== undefined) throw wrong();
    table[last] = made;
  } else if (known === undefined) table[last] = [made];
  else if (Array.isArray(known)) table[last] = [...(known as readonly TomlValue[]), made];
  else throw wrong();
  return made;
}

/** Without what stands behind a # outside of quotes. */
function withoutComment(line: string): string {
  let quote = '';
  for (let index = 0; index < line.length; index++) {
    const char = line[index] ?? '';
    if (quote === '"' && char === '\\') index++;
    else if (quote !== '') quote = char === quote ? '' : quote;
    else if (char === '"' || char === "'") quote = char;
    else if (char === '#') return line.slice(0, index);
  }
  return line;
}

/** Whether an array goes on in the next line. */
function isOpen(text: string): boolean {
  const bare = text.replaceAll(/"(?:[^"\\]|\\.)*"|'[^']*'/g, '');
  return bare.split('[').length > bare.split(']').length;
}

function fault(name: string, line: number, reason = 'a heading is not one, or is there twice') {
  return new TcpxError('ERR_USAGE_ARGUMENT', `${name}, line ${line}: ${reason}`);
}

const ESCAPES: Readonly<Record<string, string>> = {
  ...{ '"': '"', '\\': '\\', n: '\n', t: '\t', r: '\r' },
};

class ValueReader {
  private readonly text: string;
  private readonly wrong: (reason: string) => TcpxError;
  private at = 0;

  constructor(text: string, wrong: (reason: string) => TcpxError) {
    this.text = text;
    this.wrong = wrong;
  }

  readAll(): TomlValue {
    const value = this.read();
    this.skipSpace();
    if (this.at < this.text.length) throw this.wrong(`more behind a value: ${this.rest()}`);
    return value;
  }

  private rest(): string {
    return JSON.stringify(this.text.slice(this.at, this.at + 30));
  }

  private skipSpace(): void {
    while (/\s/.test(this.text[this.at] ?? '')) this.at++;
  }

  private read(): TomlValue {
    this.skipSpace();
    const char = this.text[this.at];
    if (char === '[') return this.readList();
    if (char === '"') return this.readString();
    if (char === "'") return this.readLiteral();
    const word = /^[^\s,\]]+/.exec(this.text.slice(this.at))?.[0] ?? '';
    this.at += word.length;
    if (word === 'true' || word === 'false') return word === 'true';
    if (/^[+-]?(0|[1-9][\d_]*)(\.\d+)?$/.test(word)) return Number(word.replaceAll('_', ''));
    throw this.wrong(`${JSON.stringify(word)} is no string, number, true, false or list`);
  }

  private readList(): readonly TomlValue[] {
    this.at++;
    const values: TomlValue[] = [];
    for (;;) {
      this.skipSpace();
      if (this.text[this.at] === ']') break;
      values.push(this.read());
      this.skipSpace();
      if (this.text[this.at] === ',') this.at++;
      else if (this.text[this.at] !== ']') throw this.wrong('a list has commas and an end');
    }
    this.at++;
    return values;
  }

  private readLiteral(): string {
    const end = this.text.indexOf("'", this.at + 1);
    if (end < 0) throw this.wrong('a string has no end');
    const value = this.text.slice(this.at + 1, end);
    this.at = end + 1;
    return value;
  }

  private readString(): string {
    let value = '';
    for (this.at++; this.text[this.at] !== '"'; this.at++) {
      let char = this.text[this.at];
      if (char === '\\') {
        this.at++;
        char = ESCAPES[this.text[this.at] ?? ''];
      }
      if (char === undefined) throw this.wrong('a string has no end, or an escape is not known');
      value += char;
    }
    this.at++;
    return value;
  }
}
