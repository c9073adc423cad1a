// Writes a cpio archive in the "newc" form that the kernel unpacks as its first file system.
// Header fields are eight hexadecimal digits each; names and data are padded to four bytes.

import { Buffer } from 'node:buffer';

export interface ArchiveEntry {
  /** Without a leading slash. */
  readonly path: string;
  readonly mode: number;
  readonly data: Buffer;
}

const FOLDER = 0o040755;
const FILE = 0o100000;
const LINK = 0o120777;

function folderEntry(path: string): ArchiveEntry {
  return { path, mode: FOLDER, data: Buffer.alloc(0) };
}

export function fileEntry(path: string, data: Buffer, permissions = 0o644): ArchiveEntry {
  return { path, mode: FILE | permissions, data };
}

export function linkEntry(path: string, target: string): ArchiveEntry {
  return { path, mode: LINK, data: Buffer.from(target) };
}

/** Adds the folders above every entry, each once and before its content. */
export function withParents(entries: readonly ArchiveEntry[]): readonly ArchiveEntry[] {
  const seen = new Set<string>();
  const result: ArchiveEntry[] = [];
  for (const entry of entries) {
    const parts = entry.path.split('/');
    for (let depth = 1; depth < parts.length; depth++) {
      const parent = parts.slice(0, depth).join('/');
      if (!seen.has(parent)) result.push(folderEntry(parent));
      seen.add(parent);
    }
    if (!seen.has(entry.path)) result.push(entry);
    seen.add(entry.path);
  }
  return result;
}

export function cpioArchive(entries: readonly ArchiveEntry[]): Buffer {
  const parts: Buffer[] = [];
  const trailer: ArchiveEntry = { path: 'TRAILER!!!', mode: 0, data: Buffer.alloc(0) };
  for (const [index, entry] of [...entries, trailer].entries()) {
    const name = Buffer.from(`${entry.path}\0`);
    const header = Buffer.from(headerText(index + 1, entry, name.length));
    parts.push(header, name, padding(header.length + name.length));
    parts.push(entry.data, padding(entry.data.length));
  }
  return Buffer.concat(parts);
}

function headerText(inode: number, entry: ArchiveEntry, nameBytes: number): string {
  const links = (entry.mode & FOLDER) === FOLDER ? 2 : 1;
  const fields = [
    ...[inode, entry.mode, 0, 0, links, 0, entry.data.length],
    ...[0, 0, 0, 0, nameBytes, 0],
  ];
  return `070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}`;
}

function padding(bytes: number): Buffer {
  return Buffer.alloc((4 - (bytes % 4)) % 4);
}
