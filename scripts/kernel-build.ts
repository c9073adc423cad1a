// How kernels/*.cu become the committed kernels/*.ptx: compile for compute_80 (some for compute_90
// as well), then lower the declared ISA version to the oldest that the assembler accepts, so that
// older drivers take it.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const KERNELS_DIRECTORY = fileURLToPath(new URL('../../kernels', import.meta.url));

/** Oldest first. compute_80 began with 7.0; 7.8 is the newest that a CUDA 11.8 driver takes. */
const ISA_VERSIONS = ['7.0', '7.1', '7.2', '7.3', '7.4', '7.5', '7.6', '7.7', '7.8'] as const;
const NVCC_FLAGS = ['-ptx', '-O3', '--std=c++17', '-Werror', 'all-warnings'];
/** Sources that do better with what Hopper added, in a second file for GPUs that have it. */
const HOPPER_SOURCES: readonly string[] = ['unpack'];

/** One committed file, kernels/`name`.ptx. */
export interface KernelBuild {
  readonly name: string;
  readonly source: string;
  readonly compute: 80 | 90;
}

export function kernelBuilds(): KernelBuild[] {
  const sources = readdirSync(KERNELS_DIRECTORY)
    .filter((name) => name.endsWith('.cu'))
    .map((name) => name.slice(0, -'.cu'.length))
    .sort();
  return [
    ...sources.map((source) => ({ name: source, source, compute: 80 }) as const),
    ...HOPPER_SOURCES.map((source) => ({ name: `${source}-90`, source, compute: 90 }) as const),
  ];
}

/** GPU generations that must take the file; it is assembled for each before it counts as good. */
export function targetsOf(build: KernelBuild): string[] {
  return ['sm_80', 'sm_90', 'sm_100'].slice(build.compute === 90 ? 1 : 0);
}

/** Of the kernel and every header, so that a stale PTX shows on machines without nvcc too. */
export function sourceDigest({ source }: KernelBuild): string {
  const hash = createHash('sha256');
  const headers = readdirSync(KERNELS_DIRECTORY).filter((name) => name.endsWith('.cuh'));
  for (const name of [`${source}.cu`, ...headers.sort()]) {
    hash.update(`${name}\n`).update(readFileSync(join(KERNELS_DIRECTORY, name)));
  }
  return hash.digest('hex');
}

/** `13.0, V13.0.88`, or undefined where there is no nvcc. */
export function nvccRelease(): string | undefined {
  const result = spawnSync('nvcc', ['--version'], { encoding: 'utf8' });
  return result.status === 0 ? /release (.+)/.exec(result.stdout)?.[1] : undefined;
}

export function buildPtx(build: KernelBuild, release: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'tcpx-kernels-'));
  try {
    const path = join(directory, 'kernel.ptx');
    const source = join(KERNELS_DIRECTORY, `${build.source}.cu`);
    runTool('nvcc', [...NVCC_FLAGS, `-arch=compute_${build.compute}`, source, '-o', path]);
    const body = portableBody(readFileSync(path, 'utf8'));
    return lowerVersion(`${header(build, release)}${body}`, path, targetsOf(build));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function header(build: KernelBuild, release: string): string {
  return (
    `// Made from kernels/${build.source}.cu by npm run build:kernels; not for editing.\n` +
    `// nvcc: ${release}\n// source: ${sourceDigest(build)}\n`
  );
}

// The pragma is a hint to the assembler that only ISA 8.3 knows; without it nothing changes.
function portableBody(text: string): string {
  return text
    .slice(text.indexOf('.version'))
    .split('\n')
    .filter((line) => !line.includes('.pragma "used_bytes_mask'))
    .join('\n');
}

function lowerVersion(text: string, path: string, targets: readonly string[]): string {
  for (const version of ISA_VERSIONS) {
    const lowered = text.replace(/^\.version .*$/m, `.version ${version}`);
    writeFileSync(path, lowered);
    if (targets.every((target) => assemble(target, path) === '')) return lowered;
  }
  const newest = targets.map((target) => assemble(target, path)).join('\n');
  throw new Error(`no ISA up to ${String(ISA_VERSIONS.at(-1))} assembles:\n${newest}`);
}

/** What ptxas complains about; empty when it is content. */
export function assemble(target: string, path: string): string {
  const result = spawnSync('ptxas', [`-arch=${target}`, path, '-o', '/dev/null'], {
    encoding: 'utf8',
  });
  if (result.error !== undefined) throw result.error;
  return result.status === 0 ? '' : `${result.stdout}${result.stderr}`;
}

function runTool(tool: string, words: readonly string[]): void {
  const result = spawnSync(tool, words, { encoding: 'utf8' });
  if (result.status === 0) return;
  throw new Error(`${tool} ${words.join(' ')}: ${result.stdout}${result.stderr}`);
}
