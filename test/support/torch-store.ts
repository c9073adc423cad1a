// PyTorch's own TCPStore server as a child process, for hosts that have PyTorch.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';

const SERVER = `
import sys
from datetime import timedelta
from torch.distributed import TCPStore
store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False,
                 timeout=timedelta(seconds=30), use_libuv=sys.argv[1] == "1")
print(store.port, flush=True)
sys.stdin.read()
`;

/** Why the original server cannot be used here; undefined when it can. */
export function torchSkipReason(): string | undefined {
  const probe = spawnSync('python3', ['-c', 'from torch.distributed import TCPStore']);
  return probe.status === 0 ? undefined : 'needs PyTorch (python3 with torch.distributed)';
}

/** The endpoint of a fresh server, which ends with the test. */
export async function startTorchStore(t: TestContext, usesLibuv: boolean): Promise<string> {
  const child = spawn('python3', ['-c', SERVER, usesLibuv ? '1' : '0'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => child.kill());
  const lines = createInterface({ input: child.stdout });
  const [port] = (await Promise.race([
    once(lines, 'line'),
    once(child, 'exit').then(() => {
      throw new Error('the PyTorch store ended before it listened');
    }),
  ])) as [string];
  return `127.0.0.1:${port}`;
}
