// Where the logger shim lies: built with the other native parts in a checkout, or compiled from the
// source that the package carries, once, into the user's cache folder. The file's name holds a
// digest of source and compiler line, so that another version never meets the wrong library.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Environment, processEnvironment } from '../../base/config.js';

const BUILT_PATH = fileURLToPath(
  new URL('../../../../build/native/libtcpx-logger.so', import.meta.url),
);
const SOURCE_PATH = fileURLToPath(new URL('../../../../native/logger/logger.c', import.meta.url));
const FLAGS = ['-std=c11', '-D_GNU_SOURCE', '-O2', '-fPIC', '-shared', '-fvisibility=hidden'];
const COMPILE_MS = 20_000;
/** Others may not write what we load. */
const MODE_OTHERS_WRITE = 0o022;

export interface LoggerShim {
  /** Empty when there is none. */
  readonly path: string;
  /** Why there is none, and what to do about it. */
  readonly absence: string;
}

export interface ShimPlaces {
  readonly builtPath: string;
  readonly sourcePath: string;
  readonly environment: Environment;
}

const PLACES: ShimPlaces = {
  builtPath: BUILT_PATH,
  sourcePath: SOURCE_PATH,
  environment: processEnvironment(),
};

export function findLoggerShim(places: ShimPlaces = PLACES): LoggerShim {
  if (existsSync(places.builtPath)) return { path: places.builtPath, absence: '' };
  try {
    return { path: compileOnce(places), absence: '' };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { path: '', absence: `the log shim cannot be built: ${reason}` };
  }
}

/** `$XDG_CACHE_HOME/nixl-tcpx`, else `~/.cache/nixl-tcpx`. */
export function shimFolder(environment: Environment): string {
  const cache = environment['XDG_CACHE_HOME'] ?? '';
  return join(cache.startsWith('/') ? cache : join(homedir(), '.cache'), 'nixl-tcpx');
}

function compileOnce({ sourcePath, environment }: ShimPlaces): string {
  const named = environment['CC'] ?? '';
  const compiler = named === '' ? 'cc' : named;
  const folder = shimFolder(environment);
  const digest = createHash('sha256')
    .update(JSON.stringify([compiler, FLAGS, process.arch]))
    .update(readFileSync(sourcePath))
    .digest('hex');
  const path = join(folder, `libtcpx-logger-${digest.slice(0, 16)}.so`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  requireOwn(folder);
  if (existsSync(path)) {
    requireOwn(path);
    return path;
  }
  // Beside it and renamed: several plugin processes start at once.
  const fresh = `${path}.${process.pid}`;
  try {
    compile(compiler, [...FLAGS, '-o', fresh, sourcePath]);
    renameSync(fresh, path);
  } finally {
    rmSync(fresh, { force: true });
  }
  return path;
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

// It is loaded into the process that holds the plugin: nobody else may have put it there.
function requireOwn(path: string): void {
  const { uid, mode } = statSync(path);
  const isOurs = uid === process.getuid?.() || uid === 0;
  if (isOurs && (mode & MODE_OTHERS_WRITE) === 0) return;
  throw new Error(`${path} belongs to another user or can be written by others`);
}
