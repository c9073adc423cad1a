// NCCL's socket transport on this host, through PyTorch, as a peer for the GPU benchmark.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface NcclFigure {
  readonly nccl: string;
  readonly torch: string;
  readonly bandwidthGBps: number;
  readonly halfRoundTripUs: number;
}

export interface NcclSetting {
  readonly name: string;
  readonly environment: Readonly<Record<string, string>>;
}

const NCCL_SETTINGS: readonly NcclSetting[] = [
  { name: 'as it comes', environment: {} },
  {
    name: '4 threads × 4 sockets',
    environment: { NCCL_SOCKET_NTHREADS: '4', NCCL_NSOCKS_PERTHREAD: '4' },
  },
];

/** A setting under a congestion control; empty for the host's. */
export interface NcclTrial extends NcclSetting {
  readonly congestion: string;
}

/** Every setting with the host's congestion control, and with this one where there is one. */
export function ncclTrials(congestion: string): NcclTrial[] {
  const names = congestion === '' ? [''] : [congestion, ''];
  return names.flatMap((one) =>
    NCCL_SETTINGS.map((setting) => {
      const name = one === '' ? setting.name : `${setting.name}, ${one}`;
      return { ...setting, name, congestion: one };
    }),
  );
}

const SCRIPT = fileURLToPath(new URL('../../scripts/nccl-socket.py', import.meta.url));
const RUN_MS_MAX = 120_000;

/** Why NCCL cannot be run here; undefined when it can. */
export function ncclAbsence(): string | undefined {
  const probe = spawnSync('python3', ['-c', 'import torch; assert torch.cuda.is_available()'], {
    encoding: 'utf8',
    timeout: RUN_MS_MAX,
  });
  if (probe.status === 0) return undefined;
  const lines = (probe.error?.message ?? probe.stderr).trim().split('\n');
  return `python3 with PyTorch and CUDA: ${lines.at(-1) ?? 'no answer'}`;
}

export function runNccl(setting: NcclTrial): NcclFigure {
  const { congestion } = setting;
  const words = congestion === '' ? [SCRIPT] : [SCRIPT, '--congestion', congestion];
  const result = spawnSync('python3', words, {
    encoding: 'utf8',
    timeout: RUN_MS_MAX,
    env: { ...process.env, ...setting.environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (result.status !== 0) {
    const end = result.error?.message ?? `exit ${String(result.status ?? result.signal)}`;
    throw new Error(`NCCL, ${setting.name}: ${end}`);
  }
  return JSON.parse(result.stdout) as NcclFigure;
}
