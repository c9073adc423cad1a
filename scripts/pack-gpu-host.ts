// `npm run pack:gpu-host`: makes build/gpu-host/, all that a GPU host without Node and network
// needs to run GPU tests and benchmarks: a stripped node, koffi for Linux x86-64, dist, the PTX,
// and the C sources of the plugin emulator.

import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { formatBytes } from '../src/base/units.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PACK = join(ROOT, 'build/gpu-host');
const STAGE = join(ROOT, 'build/gpu-host-stage');
const PACK_BYTES_MAX = 40 * 1024 * 1024;

const APP_PATHS = [
  'package.json',
  'bin',
  'dist/src',
  'dist/scripts',
  'dist/test',
  'include',
  'kernels',
  'native',
  'scripts/nccl-socket.py',
];
const MODULE_PATHS = [
  'koffi/package.json',
  'koffi/index.js',
  'koffi/index.cjs',
  'koffi/indirect.js',
  'koffi/indirect.cjs',
  'koffi/lib',
  'koffi/src',
  '@koromix/koffi-linux-x64/package.json',
  '@koromix/koffi-linux-x64/index.js',
  '@koromix/koffi-linux-x64/linux_x64',
];

function run(tool: string, words: readonly string[], cwd = ROOT): void {
  execFileSync(tool, words, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });
}

function packNode(): void {
  copyFileSync(process.execPath, join(STAGE, 'node'));
  run('strip', ['--strip-unneeded', 'node'], STAGE);
  run('xz', ['-6', '-T1', '--keep', '--force', 'node'], STAGE);
  copyFileSync(join(STAGE, 'node.xz'), join(PACK, 'node.xz'));
}

function packApp(): void {
  const app = join(STAGE, 'app');
  for (const path of APP_PATHS) cpSync(join(ROOT, path), join(app, path), { recursive: true });
  for (const path of MODULE_PATHS) {
    const target = join(app, 'node_modules', path);
    cpSync(join(ROOT, 'node_modules', path), target, { recursive: true });
  }
  run('tar', ['-cJf', join(PACK, 'app.tar.xz'), '-C', app, '.']);
}

function packedBytes(): number {
  return readdirSync(PACK).reduce((sum, name) => sum + statSync(join(PACK, name)).size, 0);
}

rmSync(PACK, { recursive: true, force: true });
rmSync(STAGE, { recursive: true, force: true });
mkdirSync(PACK, { recursive: true });
mkdirSync(STAGE, { recursive: true });
packNode();
packApp();
rmSync(STAGE, { recursive: true });
const bytes = packedBytes();
process.stderr.write(
  `build/gpu-host: ${formatBytes(bytes)}\n` +
    'Bring build/gpu-host/ and scripts/gpu-host.sh to the GPU host (same places) and run\n' +
    '  bash scripts/gpu-host.sh\n' +
    'Logs go to $OUT, or to build/gpu-host/logs where OUT is not set.\n',
);
if (bytes > PACK_BYTES_MAX) {
  process.stderr.write(`build/gpu-host: more than ${formatBytes(PACK_BYTES_MAX)}\n`);
  process.exitCode = 1;
}
