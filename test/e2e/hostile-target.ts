// Starts hostile-target-main.ts as a child and asks it questions.

import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { SettingValues } from '../../src/base/settings.js';
import type { RegionDescriptor } from '../../src/memory/region.js';

const MAIN = fileURLToPath(new URL('./hostile-target-main.js', import.meta.url));
/**
 * Every thread's young generation grows with the work it does and stays mapped: on Node 24 by some
 * 140 MiB in all, after one million frames and after eight. Kept small, what is left tells of us.
 */
const V8_FLAGS = ['--expose-gc', '--max-semi-space-size=1'];

export interface Resources {
  readonly descriptors: number;
  readonly mappedBytes: number;
  readonly rss: number;
  readonly heapUsed: number;
  readonly arrayBuffers: number;
  readonly sessions: number;
  readonly warnings: number;
  /** Of the warnings: codes that they name. */
  readonly codes: readonly string[];
}

interface Answer {
  readonly port: number;
  readonly descriptor: RegionDescriptor;
  readonly mismatchAt: number;
  readonly isWhole: boolean;
  readonly resources: Resources;
}

export class HostileTarget {
  readonly child: ChildProcess;
  readonly #lines: Interface;

  /** `fileLimit` is the child's own limit of open descriptors. */
  constructor(bytes: number, settings: Partial<SettingValues>, fileLimit?: number) {
    const words = [process.execPath, ...V8_FLAGS, MAIN, JSON.stringify({ bytes, settings })];
    if (fileLimit !== undefined) words.unshift('prlimit', `--nofile=${fileLimit}:${fileLimit}`);
    const [program = '', ...others] = words;
    this.child = spawn(program, others, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.child.stdout! });
  }

  /** The next line that it prints. */
  async answer(): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const onExit = (): void => reject(new Error('the target has died'));
      this.child.once('exit', onExit);
      this.#lines.once('line', (line) => {
        this.child.off('exit', onExit);
        resolve(JSON.parse(line) as Answer);
      });
    });
  }

  ask(question: string): Promise<Answer> {
    const answer = this.answer();
    this.child.stdin?.write(`${question}\n`);
    return answer;
  }

  get isAlive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Ends it by the end of its input; its exit code. */
  async end(): Promise<number | null> {
    if (!this.isAlive) return this.child.exitCode;
    const exited = new Promise<void>((resolve) => this.child.once('exit', () => resolve()));
    const timer = setTimeout(() => this.child.kill('SIGKILL'), 10_000);
    this.child.stdin?.end();
    await exited;
    clearTimeout(timer);
    return this.child.exitCode;
  }
}
