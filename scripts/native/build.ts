// Building one native target. It is rebuilt only when a source, a header or the command line
// differs from the last time.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { TcpxError } from '../../src/base/errors.js';
import { repositoryRoot, walk } from '../repository.js';
import { NATIVE_FOLDER, type NativeTarget } from './targets.js';

/** All sources and headers, relative to the root. */
export function nativePaths(): string[] {
  return [...walk(repositoryRoot, 'native'), ...walk(repositoryRoot, 'include')];
}

export function compilerOf(target: NativeTarget): string {
  return target.isCxx === true ? (process.env['CXX'] ?? 'c++') : (process.env['CC'] ?? 'cc');
}

export function hasCompiler(compiler: string): boolean {
  return spawnSync(compiler, ['--version']).status === 0;
}

/** `folder` is relative to the root, or absolute. */
export function buildTarget(target: NativeTarget, folder: string = NATIVE_FOLDER): void {
  const compiler = compilerOf(target);
  const place = resolve(repositoryRoot, folder);
  mkdirSync(place, { recursive: true });
  const output = join(place, target.name);
  const stampPath = `${output}.stamp`;
  const stamp = stampOf(target, compiler);
  if (existsSync(output) && existsSync(stampPath) && readFileSync(stampPath, 'utf8') === stamp) {
    return;
  }
  // Written beside and renamed: a process that has the old file mapped keeps it whole.
  const fresh = `${output}.new`;
  const isArchive = target.isArchive === true;
  const linked = isArchive ? `${output}.o` : fresh;
  compile(compiler, [...target.flags, '-o', linked, ...target.sources, ...target.libraries]);
  if (isArchive) {
    rmSync(fresh, { force: true });
    compile('ar', ['rcs', fresh, linked]);
  }
  renameSync(fresh, output);
  if (isArchive) rmSync(linked);
  if (target.alias !== undefined) {
    const alias = join(place, target.alias);
    rmSync(alias, { force: true });
    symlinkSync(target.name, alias);
  }
  writeFileSync(stampPath, stamp);
  process.stderr.write(`built ${folder}/${target.name}\n`);
}

function stampOf(target: NativeTarget, compiler: string): string {
  const hash = createHash('sha256');
  hash.update(JSON.stringify([compiler, target.flags, target.libraries]));
  const linked = target.libraries.filter((path) => path.startsWith(NATIVE_FOLDER));
  for (const path of [...target.sources, ...target.headers, ...linked]) {
    hash.update(`\0${path}\0`).update(readFileSync(join(repositoryRoot, path)));
  }
  return hash.digest('hex');
}

function compile(compiler: string, words: readonly string[]): void {
  const result = spawnSync(compiler, words, { cwd: repositoryRoot, encoding: 'utf8' });
  if (result.error !== undefined) {
    throw new TcpxError(
      'ERR_CAP_MISSING_TOOL',
      `${compiler}: not found; the native parts (emulator, logger, unpack, C library) need a ` +
        'C compiler (Debian: apt install gcc libc6-dev), or CC names one',
    );
  }
  if (result.status === 0) return;
  process.stderr.write(result.stderr);
  throw new TcpxError('ERR_SYS_CALL', `${compiler} ${words.join(' ')}: exit ${result.status ?? 1}`);
}
