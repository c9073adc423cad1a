// The tar format, written and read by ourselves: ustar with pax headers for what does not fit.
// Only what a capture holds: files, folders, symbolic links. Pure; compression is the caller's.

import { TcpxError } from '../../base/errors.js';
import type { FileTree, TreeEntry } from '../read/file-tree.js';

const BLOCK = 512;
const NAME_BYTES = 100;
const PREFIX_BYTES = 155;

export function encodeTar(tree: FileTree, modifiedSeconds: number): Buffer {
  const parts: Buffer[] = [];
  for (const [path, entry] of tree) parts.push(...encodeEntry(path, entry, modifiedSeconds));
  // Two empty blocks end the archive.
  parts.push(Buffer.alloc(2 * BLOCK));
  return Buffer.concat(parts);
}

function encodeEntry(path: string, entry: TreeEntry, modifiedSeconds: number): Buffer[] {
  const name = path.replace(/^\/+/, '') + (entry.kind === 'folder' ? '/' : '');
  const target = entry.kind === 'link' ? entry.target : '';
  const data = Buffer.from(entry.kind === 'file' ? entry.text : '');
  const place = splitName(name);
  const records: string[] = [];
  if (place === undefined) records.push(paxRecord('path', name));
  if (Buffer.byteLength(target) > NAME_BYTES) records.push(paxRecord('linkpath', target));
  const parts: Buffer[] = [];
  if (records.length > 0) {
    const body = Buffer.from(records.join(''));
    parts.push(
      encodeHeader('x', { name: 'pax', prefix: '' }, '', body.length, 0o644, modifiedSeconds),
    );
    parts.push(pad(body));
  }
  const type = entry.kind === 'file' ? '0' : entry.kind === 'link' ? '2' : '5';
  const mode = entry.kind === 'file' ? (entry.mode ?? 0o444) : 0o755;
  const shown = place ?? { name: name.slice(-NAME_BYTES), prefix: '' };
  const shownTarget = Buffer.byteLength(target) > NAME_BYTES ? '' : target;
  parts.push(encodeHeader(type, shown, shownTarget, data.length, mode, modifiedSeconds));
  if (data.length > 0) parts.push(pad(data));
  return parts;
}

interface SplitName {
  readonly name: string;
  readonly prefix: string;
}

/** Up to 100 bytes of name, up to 155 of folders before it; undefined when it does not fit. */
function splitName(path: string): SplitName | undefined {
  if (Buffer.byteLength(path) <= NAME_BYTES) return { name: path, prefix: '' };
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
    const prefix = path.slice(0, at);
    const name = path.slice(at + 1);
    if (Buffer.byteLength(prefix) > PREFIX_BYTES) return undefined;
    if (name !== '' && Buffer.byteLength(name) <= NAME_BYTES) return { name, prefix };
  }
  return undefined;
}

/** `length key=value\n`, where the length counts its own digits. */
function paxRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + String(rest).length;
  if (rest + String(length).length > length) length++;
  return `${length} ${key}=${value}\n`;
}

function encodeHeader(
  type: string,
  { name, prefix }: SplitName,
  target: string,
  size: number,
  mode: number,
  modifiedSeconds: number,
): Buffer {
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, digits: number) =>
    header.write(`${value.toString(8).padStart(digits, '0')}\0`, at, 'latin1');
  header.write(name, 0, 'utf8');
  octal(mode, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(size, 124, 11);
  octal(modifiedSeconds, 136, 11);
  header.write(type, 156, 'latin1');
  header.write(target, 157, 'utf8');
  header.write('ustar\u000000', 257, 'latin1');
  header.write(prefix, 345, 'utf8');
  octal(headerSum(header), 148, 6);
  header.write(' ', 155, 'latin1');
  return header;
}

/** Sum of all bytes with the eight bytes of the sum itself taken as blanks. */
function headerSum(header: Buffer): number {
  let sum = 0;
  for (const [index, byte] of header.entries()) sum += index >= 148 && index < 156 ? 32 : byte;
  return sum;
}

function pad(data: Buffer): Buffer {
  const rest = data.length % BLOCK;
  return rest === 0 ? data : Buffer.concat([data, Buffer.alloc(BLOCK - rest)]);
}

/** Reads an archive; damaged ones are refused, kinds that a capture never holds are skipped. */
export function decodeTar(bytes: Buffer): FileTree {
  const tree = new Map<string, TreeEntry>();
  let pax: Readonly<Record<string, string>> = {};
  let at = 0;
  while (at + BLOCK <= bytes.length) {
    const header = bytes.subarray(at, at + BLOCK);
    if (header.every((byte) => byte === 0)) break;
    const size = checkHeader(header, at, bytes.length);
    const data = bytes.subarray(at + BLOCK, at + BLOCK + size);
    const type = String.fromCharCode(header[156] ?? 0);
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    const longName = decodeLongName(type, data);
    if (longName !== undefined) {
      pax = { ...pax, ...longName };
      continue;
    }
    const path = normalisePath(pax['path'] ?? headerName(header));
    const entry = decodeEntry(type, header, data, pax['linkpath']);
    if (path !== '' && entry !== undefined) tree.set(path, entry);
    pax = {};
  }
  return tree;
}

function checkHeader(header: Buffer, at: number, total: number): number {
  const size = octalField(header, 124, 12);
  if (octalField(header, 148, 8) !== headerSum(header) || at + BLOCK + size > total) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', `archive is damaged at byte ${at}`);
  }
  return size;
}

/** pax records, or the older GNU way: the name itself as the data of a special entry. */
function decodeLongName(type: string, data: Buffer): Record<string, string> | undefined {
  if (type === 'x') return decodePax(data);
  if (type === 'g') return {};
  const text = data.toString('utf8').replace(/\0.*$/s, '');
  if (type === 'L') return { path: text };
  if (type === 'K') return { linkpath: text };
  return undefined;
}

function decodePax(data: Buffer): Record<string, string> {
  const records: Record<string, string> = {};
  let at = 0;
  while (at < data.length) {
    const length = Number.parseInt(data.toString('latin1', at, at + 10), 10);
    if (!(length > 0)) break;
    const record = data.toString('utf8', at, at + length);
    const match = /^\d+ ([^=]+)=(.*)\n$/s.exec(record);
    if (match !== null) records[match[1] ?? ''] = match[2] ?? '';
    at += length;
  }
  return records;
}

function decodeEntry(
  type: string,
  header: Buffer,
  data: Buffer,
  longTarget: string | undefined,
): TreeEntry | undefined {
  if (type === '5') return { kind: 'folder' };
  if (type === '2') return { kind: 'link', target: longTarget ?? textField(header, 157, 100) };
  if (type !== '0' && type !== '\0') return undefined;
  return { kind: 'file', text: data.toString('utf8'), mode: octalField(header, 100, 8) };
}

function headerName(header: Buffer): string {
  const prefix = textField(header, 345, PREFIX_BYTES);
  const name = textField(header, 0, NAME_BYTES);
  return prefix === '' ? name : `${prefix}/${name}`;
}

/** Absolute, without `.`, `..` or trailing slash: names from elsewhere cannot climb out. */
function normalisePath(name: string): string {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.' && part !== '..');
  return parts.length === 0 ? '' : `/${parts.join('/')}`;
}

function textField(header: Buffer, at: number, length: number): string {
  const field = header.subarray(at, at + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end < 0 ? length : end);
}

function octalField(header: Buffer, at: number, length: number): number {
  const value = Number.parseInt(textField(header, at, length).trim() || '0', 8);
  return Number.isSafeInteger(value) && value >= 0 ? value : 0;
}
