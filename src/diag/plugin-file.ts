// The NCCL net plugin on disk: where it lies, which tables it exports, and whether its mount lets
// it be loaded. The file is searched for names; nothing of it is executed.

import { readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { EnvironmentValues } from '../host/environment/preset.js';
import type { HostFiles } from '../host/read/host-files.js';
import type { PluginFacts } from './facts.js';

const CANDIDATES = [
  '/usr/local/tcpx/lib64/libnccl-net-tcpx.so',
  '/usr/local/tcpx/lib64/libnccl-net.so',
  '/var/lib/tcpx/lib64/libnccl-net-tcpx.so',
  '/var/lib/tcpx/lib64/libnccl-net.so',
];

/** Exported by the emulator, and by nothing else. */
const EMULATOR_SYMBOL = 'tcpx_emu_version\0';

export function findPlugin(files: HostFiles, environment: EnvironmentValues): PluginFacts {
  const named = environment['UCCL_TCPX_PLUGIN_PATH'];
  const candidates = named === undefined ? CANDIDATES : [named];
  for (const path of candidates) {
    const content = readBytes(join(files.root, path));
    if (content === undefined) continue;
    return {
      candidates,
      path,
      versions: netTables(content),
      isNoexec: isNoexec(files, path),
      isEmulator: content.includes(EMULATOR_SYMBOL),
      wasLookedFor: true,
    };
  }
  const wasLookedFor = files.isLive || candidates.some((path) => files.isFolder(dirname(path)));
  return { candidates, path: undefined, versions: [], isNoexec: undefined, wasLookedFor };
}

function readBytes(path: string): Buffer | undefined {
  try {
    return readFileSync(realpathSync(path));
  } catch {
    return undefined;
  }
}

/** Versions N of exported `ncclNetPlugin_vN`, ascending. */
export function netTables(content: Buffer): readonly number[] {
  const names = content.toString('latin1').matchAll(/ncclNetPlugin_v(\d+)\0/g);
  return [...new Set([...names].map((match) => Number(match[1])))].sort((a, b) => a - b);
}

/** The options of the mount that holds the path: the longest mount point that begins it. */
function isNoexec(files: HostFiles, path: string): boolean | undefined {
  const text = files.read('/proc/mounts');
  if (text === undefined) return undefined;
  const mounts = text.split('\n').map((line) => line.split(' '));
  const holding = mounts
    .filter(([, point]) => point !== undefined && isBelow(path, point))
    .sort((a, b) => (b[1]?.length ?? 0) - (a[1]?.length ?? 0))[0];
  return (holding?.[3] ?? '').split(',').includes('noexec');
}

function isBelow(path: string, point: string): boolean {
  return point === '/' || path === point || path.startsWith(`${point}/`);
}
