// `npm run build:native`: compiles the C parts into build/native/. Each output is rebuilt only when
// a source, a header or the command line differs from the last time. Without a C compiler nothing
// is built and the exit status is 3.

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
import { basename, join } from 'node:path';
import { isTcpxError, TcpxError } from '../src/base/errors.js';
import { NATIVE_FOLDER, type NativeTarget, nativeTargets } from './native/targets.js';
import { repositoryRoot, walk } from './repository.js';

process.exitCode = main();

function main(): number {
  try {
    const sources = [...walk(repositoryRoot, 'native'), ...walk(repositoryRoot, 'include')];
    mkdirSync(join(repositoryRoot, NATIVE_FOLDER), { recursive: true });
    const { version } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as {
      version: string;
    };
    for (const target of nativeTargets(sources, version)) buildTarget(target, compilerName());
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
    const alias = join(repositoryRoot, NATIVE_FOLDER, target.alias);
    rmSync(alias, { force: true });
    symlinkSync(target.name, alias);
  }
  writeFileSync(stampPath, stamp);
  process.stderr.write(`built ${NATIVE_FOLDER}/${basename(output)}\n`);
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
