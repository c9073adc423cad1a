// `npm run pack:gpu-host`: makes build/gpu-host/, all that a GPU host without Node and network
// needs to run GPU tests and benchmarks: a stripped node, koffi for Linux x86-64, dist, the PTX,
// and the C sources of the plugin emulator.

import { copyFileSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { formatBytes } from '../src/base/units.js';
import { runTool, stageApp, stageNode } from './pack/stage.js';
import { repositoryRoot } from './repository.js';

const PACK = join(repositoryRoot, 'build/gpu-host');
const STAGE = join(repositoryRoot, 'build/gpu-host-stage');
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
  'references',
  'scripts/nccl-socket.py',
];
function packNode(): void {
  stageNode(STAGE);
  runTool('xz', ['-6', '-T1', '--keep', '--force', 'node'], STAGE);
  copyFileSync(join(STAGE, 'node.xz'), join(PACK, 'node.xz'));
}

function packApp(): void {
  const app = join(STAGE, 'app');
  stageApp(app, APP_PATHS);
  runTool('tar', ['-cJf', join(PACK, 'app.tar.xz'), '-C', app, '.']);
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
