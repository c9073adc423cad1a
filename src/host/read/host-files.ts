// The files of a host below a root folder: this machine's own `/`, or a captured tree elsewhere.
// Readers see only this interface, so they cannot tell one from the other.

import { lstatSync, readdirSync, readFileSync, realpathSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { TcpxError } from '../../base/errors.js';
import type { ReadGap } from './read-gap.js';

export interface HostFiles {
  readonly root: string;
  /** Whether the files are those of the running kernel. */
  readonly isLive: boolean;
  /** What was needed and could not be read, and what was refused. */
  readonly gaps: ReadGap[];
  /** The text, or undefined when there is none to read; absence is no gap. */
  read(path: string): string | undefined;
  /** As `read`, and absence is a gap. */
  need(path: string): string | undefined;
  /** Names in a folder, sorted; empty when there is no such folder. */
  list(path: string): string[];
  /** The path with every link followed, still below the root. */
  realPath(path: string): string | undefined;
  isFolder(path: string): boolean;
  /** Permission bits. */
  mode(path: string): number | undefined;
}

const TEXT_BYTES_MAX = 64 * 1024 * 1024;

export function openFolderFiles(root: string): HostFiles {
  const realRoot = openRoot(root);
  const isLive = realRoot === '/';
  const gaps: ReadGap[] = [];
  const place = (path: string): string => (isLive ? path : join(realRoot, path));
  // A host has few folders and many files: links to folders are followed once.
  const realFolders = new Map<string, string>();
  const realFolder = (folder: string): string => {
    const real = realFolders.get(folder) ?? containedPath(realRoot, folder);
    realFolders.set(folder, real);
    return real;
  };
  const readablePath = (file: string): string => {
    const facts = lstatSync(file);
    const isLink = facts.isSymbolicLink();
    const real = isLink
      ? containedPath(realRoot, file)
      : join(realFolder(dirname(file)), basename(file));
    checkReadable(isLink ? statSync(real) : facts);
    return real;
  };
  const read = (path: string, isNeeded: boolean): string | undefined => {
    try {
      return readFileSync(isLive ? path : readablePath(place(path)), 'utf8');
    } catch (error) {
      noteGap(gaps, path, error, isNeeded);
      return undefined;
    }
  };
  return {
    root,
    isLive,
    gaps,
    read: (path) => read(path, false),
    need: (path) => read(path, true),
    list: (path) => listFolder(place(path)),
    realPath: (path) => {
      const real = attempt(() => realpathSync.native(place(path)));
      if (real === undefined || isLive) return real;
      return real.startsWith(`${realRoot}/`) ? real.slice(realRoot.length) : undefined;
    },
    isFolder: (path) => attempt(() => statSync(place(path)).isDirectory()) ?? false,
    mode: (path) => attempt(() => lstatSync(place(path)).mode & 0o777),
  };
}

function openRoot(root: string): string {
  const realRoot = attempt(() => realpathSync.native(root));
  if (realRoot === undefined || !statSync(realRoot).isDirectory()) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', `root ${root}: neither a folder nor a capture file`, {
      facts: { root },
    });
  }
  return realRoot;
}

// A pipe in a foreign tree would wait for a writer for ever.
function checkReadable(facts: Stats): void {
  if (!facts.isFile() && !facts.isDirectory()) throw new Error('not a regular file');
  if (facts.size > TEXT_BYTES_MAX) throw new Error('larger than 64 MiB');
}

// A captured tree may come from anybody: a link in it must not lead out of it.
function containedPath(realRoot: string, file: string): string {
  // One call, where the other looks at every part of the path by a call of its own.
  const real = realpathSync.native(file);
  if (real !== realRoot && !real.startsWith(`${realRoot}/`))
    throw new Error('link leads out of the tree');
  return real;
}

/** Refusals are always worth telling; absence only where the file was needed. */
function noteGap(gaps: ReadGap[], path: string, error: unknown, isNeeded: boolean): void {
  const code = (error as NodeJS.ErrnoException).code;
  const reason = code ?? (error instanceof Error ? error.message : String(error));
  const isRefusal = reason === 'EACCES' || reason === 'EPERM' || code === undefined;
  if (isNeeded || isRefusal) gaps.push({ path, reason });
}

function listFolder(folder: string): string[] {
  return attempt(() => readdirSync(folder).sort(compareNames)) ?? [];
}

const names = new Intl.Collator('en', { numeric: true });

/** Numeric order inside names: eth2 before eth10, 9 before 10. */
export function compareNames(a: string, b: string): number {
  return names.compare(a, b);
}

function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
