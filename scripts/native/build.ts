// Building one native target. It is rebuilt only when a source, a header or the command line
// differs from the last time.

import { type ExecFileException, execFile, spawnSync } from 'node:child_process';
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
import { availableParallelism } from 'node:os';
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

/** As many at a time as there are cores; first those that others are linked with. */
export async function buildTargets(targets: readonly NativeTarget[]): Promise<void> {
  const needsOthers = (target: NativeTarget): boolean => builtLibraries(target).length > 0;
  for (const wave of [targets.filter((one) => !needsOthers(one)), targets.filter(needsOthers)]) {
    const left = wave.values();
    const builder = async (): Promise<void> => {
      for (const target of left) await buildTarget(target);
    };
    await Promise.all(Array.from({ length: availableParallelism() }, builder));
  }
}

/** `folder` is relative to the root, or absolute. */
export async function buildTarget(
  target: NativeTarget,
  folder: string = NATIVE_FOLDER,
): Promise<void> {
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
  // A source in C++ takes seconds: each is compiled beside the others.
  const isMany = target.isCxx === true && target.sources.length > 1;
  const objects = isMany ? await compileEach(target, compiler, output) : [];
  const parts = isMany ? objects : target.sources;
  await compile(compiler, [...target.flags, '-o', linked, ...parts, ...target.libraries]);
  for (const object of objects) rmSync(object);
  if (isArchive) {
    rmSync(fresh, { force: true });
    await compile('ar', ['rcs', fresh, linked]);
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

/** The objects. */
function compileEach(
  { sources, flags }: NativeTarget,
  compiler: string,
  output: string,
): Promise<string[]> {
  const compiled = sources.map(async (source, index) => {
    const object = `${output}.${index}.o`;
    await compile(compiler, [...flags, '-c', '-o', object, source]);
    return object;
  });
  return Promise.all(compiled);
}

function builtLibraries({ libraries }: NativeTarget): string[] {
  return libraries.filter((path) => path.startsWith(NATIVE_FOLDER));
}

function stampOf(target: NativeTarget, compiler: string): string {
  const hash = createHash('sha256');
  hash.update(JSON.stringify([compiler, target.flags, target.libraries]));
  for (const path of [...target.sources, ...target.headers, ...builtLibraries(target)]) {
    hash.update(`\0${path}\0`).update(readFileSync(join(repositoryRoot, path)));
  }
  return hash.digest('hex');
}

function compile(compiler: string, words: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(compiler, words, { cwd: repositoryRoot }, (error, _, stderr) => {
      if (error === null) {
        resolve();
        return;
      }
      process.stderr.write(stderr);
      reject(error.code === 'ENOENT' ? missing(compiler) : failed(compiler, words, error));
    });
  });
}

function missing(compiler: string): TcpxError {
  return new TcpxError(
    'ERR_CAP_MISSING_TOOL',
    `${compiler}: not found; the native parts (emulator, logger, unpack, C library) need a ` +
      'C compiler (Debian: apt install gcc libc6-dev), or CC names one',
  );
}

function failed(
  compiler: string,
  words: readonly string[],
  { code }: ExecFileException,
): TcpxError {
  return new TcpxError('ERR_SYS_CALL', `${compiler} ${words.join(' ')}: exit ${code ?? 1}`);
}
