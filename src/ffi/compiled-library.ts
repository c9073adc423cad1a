// Libraries that are compiled from sources in the package on first use, into the user's cache
// folder. The file's name holds a digest of sources and compiler line, so that another version
// never meets the wrong library.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../base/config.js';
import { makeFolder } from '../base/make-folder.js';

const FLAGS = ['-std=c11', '-D_GNU_SOURCE', '-O2', '-fPIC', '-shared', '-fvisibility=hidden'];
const COMPILE_MS = 120_000;
/** Others may not write what we load. */
const MODE_OTHERS_WRITE = 0o022;

export interface LibrarySources {
  /** `libtcpx-logger`; digest and `.so` follow. */
  readonly name: string;
  readonly sources: readonly string[];
  /** What the sources include. */
  readonly headers?: readonly string[];
  /** Behind those that every library has. */
  readonly flags?: readonly string[];
  /** Behind the sources: a linker may pass over what nobody has asked for yet. */
  readonly libraries?: readonly string[];
  readonly environment: Environment;
  /** It is not there yet, and will take seconds. */
  onCompile?(): void;
}

/** `$XDG_CACHE_HOME/nixl-tcpx`, else `~/.cache/nixl-tcpx`. */
export function cacheFolder(environment: Environment): string {
  const cache = environment['XDG_CACHE_HOME'] ?? '';
  return join(cache.startsWith('/') ? cache : join(homedir(), '.cache'), 'nixl-tcpx');
}

export function compileOnce(library: LibrarySources): string {
  const { sources, libraries = [], environment } = library;
  const path = compiledPath(library);
  const folder = cacheFolder(environment);
  makeFolder(folder, 0o700);
  requireOwn(folder);
  if (existsSync(path)) {
    requireOwn(path);
    return path;
  }
  library.onCompile?.();
  // Beside it and renamed: several processes may start at once.
  const fresh = `${path}.${process.pid}`;
  try {
    compile(compilerOf(environment), [...flagsOf(library), '-o', fresh, ...sources, ...libraries]);
    renameSync(fresh, path);
  } finally {
    rmSync(fresh, { force: true });
  }
  return path;
}

function compiledPath(library: LibrarySources): string {
  const { name, sources, headers = [], libraries = [], environment } = library;
  const hash = createHash('sha256');
  hash.update(JSON.stringify([compilerOf(environment), flagsOf(library), libraries, process.arch]));
  for (const path of [...sources, ...headers]) hash.update(readFileSync(path));
  return join(cacheFolder(environment), `${name}-${hash.digest('hex').slice(0, 16)}.so`);
}

function compilerOf(environment: Environment): string {
  const named = environment['CC'] ?? '';
  return named === '' ? 'cc' : named;
}

function flagsOf({ flags = [] }: LibrarySources): string[] {
  return [...FLAGS, ...flags];
}

function compile(compiler: string, words: readonly string[]): void {
  const run = spawnSync(compiler, words, { encoding: 'utf8', timeout: COMPILE_MS });
  if (run.error !== undefined) {
    throw new Error(
      `no C compiler (${compiler}: ${run.error.message}); install one ` +
        '(Debian: apt install gcc libc6-dev) or name one with CC',
    );
  }
  if (run.status === 0) return;
  const [firstLine = ''] = run.stderr.split('\n').filter((line) => /error|fatal/.test(line));
  throw new Error(`${compiler} ended with ${run.status ?? run.signal ?? 'nothing'}: ${firstLine}`);
}

// It is loaded into our processes: nobody else may have put it there.
function requireOwn(path: string): void {
  const { uid, mode } = statSync(path);
  const isOurs = uid === process.getuid?.() || uid === 0;
  if (isOurs && (mode & MODE_OTHERS_WRITE) === 0) return;
  throw new Error(`${path} belongs to another user or can be written by others`);
}
