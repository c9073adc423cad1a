// `npm run build:native`: compiles the C parts into build/native/. Each output is rebuilt only when
// a source, a header or the command line differs from the last time. Without a C compiler nothing
// is built and the exit status is 3.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isTcpxError, TcpxError } from '../src/base/errors.js';
import { NATIVE_FOLDER, type NativeTarget, nativeTargets } from './native/targets.js';
import { repositoryRoot, walk } from './repository.js';

process.exitCode = main();

function main(): number {
  try {
    const sources = walk(repositoryRoot, 'native');
    mkdirSync(join(repositoryRoot, NATIVE_FOLDER), { recursive: true });
    for (const target of nativeTargets(sources)) buildTarget(target, compilerName());
    return 0;
  } catch (error) {
    if (!isTcpxError(error)) throw error;
    process.stderr.write(`${error.code}: ${error.message}\n`);
    return error.code === 'ERR_CAP_MISSING_TOOL' ? 3 : 4;
  }
}

function compilerName(): string {
  return process.env['CC'] ?? 'cc';
}

function buildTarget(target: NativeTarget, compiler: string): void {
  const output = join(repositoryRoot, NATIVE_FOLDER, target.name);
  const stampPath = `${output}.stamp`;
  const stamp = stampOf(target, compiler);
  if (existsSync(output) && existsSync(stampPath) && readFileSync(stampPath, 'utf8') === stamp) {
    return;
  }
  // Written beside and renamed: a process that has the old file mapped keeps it whole.
  const fresh = `${output}.new`;
  compile(compiler, [...target.flags, '-o', fresh, ...target.sources, ...target.libraries]);
  renameSync(fresh, output);
  writeFileSync(stampPath, stamp);
  process.stderr.write(`built ${NATIVE_FOLDER}/${basename(output)}\n`);
}

function stampOf(target: NativeTarget, compiler: string): string {
  const hash = createHash('sha256');
  hash.update(JSON.stringify([compiler, target.flags, target.libraries]));
  for (const path of [...target.sources, ...target.headers]) {
    hash.update(`\0${path}\0`).update(readFileSync(join(repositoryRoot, path)));
  }
  return hash.digest('hex');
}

function compile(compiler: string, words: readonly string[]): void {
  const result = spawnSync(compiler, words, { cwd: repositoryRoot, encoding: 'utf8' });
  if (result.error !== undefined) {
    throw new TcpxError(
      'ERR_CAP_MISSING_TOOL',
      `${compiler}: not found; the native parts (emulator, logger, unpack) need a C compiler ` +
        '(Debian: apt install gcc libc6-dev), or CC names one',
    );
  }
  if (result.status === 0) return;
  process.stderr.write(result.stderr);
  throw new TcpxError('ERR_SYS_CALL', `${compiler} ${words.join(' ')}: exit ${result.status ?? 1}`);
}
