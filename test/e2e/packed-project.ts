// An empty project with the packed package in it, unpacked beside the one dependency of this
// checkout: no registry is asked.

import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot, runChild } from './child.js';

export interface PackedProject {
  /** The project. */
  readonly folder: string;
  /** The package in it. */
  readonly installed: string;
  /** The tarball. */
  readonly archive: string;
  remove(): void;
}

export async function openPackedProject(): Promise<PackedProject> {
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-packed-'));
  const installed = join(folder, 'node_modules/nixl-tcpx');
  const words = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const { exitCode, stdout, stderr } = await runChild('npm', words, { timeoutMs: 90_000 });
  assert.equal(exitCode, 0, stderr);
  const packed = Object.values(JSON.parse(stdout) as Record<string, { filename: string }>)[0];
  const archive = join(folder, packed?.filename ?? '');
  mkdirSync(installed, { recursive: true });
  const unpack = ['xzf', archive, '-C', installed, '--strip-components=1'];
  assert.equal((await runChild('tar', unpack)).exitCode, 0);
  for (const name of ['koffi', '@koromix']) {
    cpSync(join(packageRoot, 'node_modules', name), join(folder, 'node_modules', name), {
      recursive: true,
    });
  }
  writeFileSync(join(folder, 'package.json'), '{ "name": "empty", "type": "module" }\n');
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  return { folder, installed, archive, remove };
}

/** Compiles files of the project under strict; what the compiler says, empty where all is well. */
export async function compileStrict(
  { folder }: PackedProject,
  files: readonly string[],
  compiler = 'typescript-native',
  [module, resolution] = ['nodenext', 'nodenext'],
): Promise<string> {
  const words = [
    ...[join(packageRoot, 'node_modules', compiler, 'bin/tsc'), '--noEmit', '--strict'],
    // The compiler's own libraries are none of ours; types of the package are checked whole.
    ...[
      '--skipDefaultLibCheck',
      '--target',
      'es2022',
      '--module',
      module,
      '--moduleResolution',
      resolution,
    ],
    ...['--typeRoots', join(packageRoot, 'node_modules/@types'), '--types', 'node', ...files],
  ];
  const { exitCode, stdout } = await runChild(process.execPath, words, { cwd: folder });
  assert.equal(exitCode === 0, stdout === '', stdout);
  return stdout;
}
