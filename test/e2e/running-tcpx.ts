// A tcpx process that runs while the test looks at it: its children, its CPU time, its end.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { until } from '../support/until.js';
import { packageRoot } from './child.js';

export class RunningTcpx {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';

  constructor(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.child = spawn(process.execPath, ['bin/tcpx.js', ...words], {
      cwd: packageRoot,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NIXL_TCPX_BENCH_KEEP: '0', ...env },
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }

  /** Until its log says so; a process that ends before that has said why. */
  async said(what: string, pattern: RegExp, limitMs: number): Promise<void> {
    await until(what, limitMs, () => {
      const { exitCode, signalCode } = this.child;
      const isOver = exitCode !== null || signalCode !== null;
      const isSo = pattern.test(this.stderr);
      assert.ok(isSo || !isOver, `${what}: ended before that, saying ${this.stderr}`);
      return isSo;
    });
  }

  /** Exit status, null after a signal; fails when the process goes on for longer. */
  async end(limitMs: number): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode;
    const [code] = (await once(this.child, 'close', {
      signal: AbortSignal.timeout(limitMs),
    })) as [number | null];
    return code;
  }

  /** The target that `bench loopback` has started, once both ends have worked for a while. */
  async busyTarget(limitMs: number): Promise<number> {
    let target = 0;
    await until(`${this.pid} moves bytes`, limitMs, () => {
      target = childrenOf(this.pid)[0] ?? 0;
      return target !== 0 && cpuTicksOf(target) > BUSY_TICKS;
    });
    return target;
  }
}

/** CPU time of 1 s, in ticks of 10 ms: far more than a start takes. */
const BUSY_TICKS = 100;

export function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')
        .split(' ')
        .filter((word) => word !== '')
        .map(Number),
    );
  } catch {
    return [];
  }
}

/** Gone, or dead and only not yet collected by whoever inherited it. */
export function hasEnded(pid: number): boolean {
  const fields = statOf(pid);
  return fields === undefined || fields[0] === 'Z' || fields[0] === 'X';
}

function cpuTicksOf(pid: number): number {
  const fields = statOf(pid);
  return Number(fields?.[11] ?? 0) + Number(fields?.[12] ?? 0);
}

// Fields after the command, which may hold spaces: state is the first of them.
function statOf(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}
