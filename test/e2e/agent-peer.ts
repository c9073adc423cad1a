// Starts the far side of the agent's tests and reads what it prints, line by line.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { packageRoot } from './child.js';

export function startPeer(
  words: readonly string[],
  variables: Readonly<Record<string, string>> = {},
) {
  const child = spawn(process.execPath, ['dist/test/e2e/agent-peer-main.js', ...words], {
    cwd: packageRoot,
    env: { ...process.env, ...variables },
    stdio: ['pipe', 'pipe', 'inherit'],
    timeout: 110_000,
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>;
  return {
    exited,
    line: async (): Promise<string> => {
      const next = await lines.next();
      if (next.done === true) throw new Error('the peer ended');
      return next.value;
    },
    kill: (): boolean => child.kill('SIGKILL'),
    /** Stands still, sockets open: what is under way to it stays under way. */
    freeze: (): boolean => child.kill('SIGSTOP'),
    stop: async (): Promise<void> => {
      child.stdin.end();
      await exited;
    },
  };
}
