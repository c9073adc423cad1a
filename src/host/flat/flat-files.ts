// The files of a flat bundle: plain text files in a folder (or in folders below it), or the same in
// a .tgz. Nothing here knows what they mean.

import { type Dirent, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { decodeTar } from '../capture/tar.js';

export interface FlatFile {
  /** Below the bundle, with slashes. */
  readonly name: string;
  readonly text: string;
  /** When it was written, as far as anybody still knows. */
  readonly modifiedMs: number | undefined;
}

/** A bundle is small; a folder that is not one must not be read whole to find that out. */
const FILES_MAX = 2000;
const DEPTH_MAX = 3;
const TEXT_BYTES_MAX = 64 * 1024 * 1024;
const UNPACKED_BYTES_MAX = 256 * 1024 * 1024;

/** Names in a folder whose file names are wanted; sorted, undefined when there are too many. */
export function listFlatFolder(folder: string): readonly string[] | undefined {
  const names: string[] = [];
  // A captured tree has thousands of small files and is none.
  if (existsSync(join(folder, 'proc')) || existsSync(join(folder, 'sys'))) return undefined;
  const pending = [{ path: folder, depth: 1 }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const entry of readFolder(next.path)) {
      const path = join(next.path, entry.name);
      if (entry.isFile()) names.push(relative(folder, path));
      else if (entry.isDirectory() && next.depth < DEPTH_MAX) {
        pending.push({ path, depth: next.depth + 1 });
      }
      if (names.length > FILES_MAX) return undefined;
    }
  }
  return names.sort();
}

/** Nothing, where it may not be read: then there is no bundle to be had from it. */
function readFolder(path: string): readonly Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** undefined when it is too large or may not be read. */
export function readFlatFile(folder: string, name: string): FlatFile | undefined {
  const path = join(folder, name);
  try {
    const { size, mtimeMs } = statSync(path);
    if (size > TEXT_BYTES_MAX) return undefined;
    return { name, text: readFileSync(path, 'utf8'), modifiedMs: mtimeMs };
  } catch {
    return undefined;
  }
}

/** Of a .tgz; undefined when it is none. Whoever packed it may have put a folder around all. */
export function readFlatArchive(bytes: Buffer): readonly FlatFile[] | undefined {
  try {
    const tree = decodeTar(gunzipSync(bytes, { maxOutputLength: UNPACKED_BYTES_MAX }));
    const files: FlatFile[] = [];
    for (const [path, entry] of tree) {
      if (entry.kind !== 'file') continue;
      files.push({ name: path.slice(1), text: entry.text, modifiedMs: undefined });
    }
    return files.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return undefined;
  }
}
