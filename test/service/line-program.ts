// A program that obeys lines: what tests write to its standard input is answered by a line each.
// The C program of native/p2p-check is one, a script over the Python module another.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { packageRoot } from '../e2e/child.js';
import { cleanEnvironment, requireNative } from '../native/plugin-environment.js';

export interface Reply {
  /** A tcpx_status. */
  readonly status: number;
  readonly text: string;
}

const CHECK_PROGRAM = join(packageRoot, 'build/native/p2p-check');

export interface ProgramOptions {
  /** Words that the program is started with. */
  readonly program?: readonly string[];
  /** Words before them, to run it elsewhere. */
  readonly inside?: (words: readonly string[]) => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export class LineProgram {
  readonly child: ChildProcess;
  readonly #waiting: ((line: string) => void)[] = [];

  constructor(options: ProgramOptions = {}) {
    requireNative();
    const words = options.program ?? [CHECK_PROGRAM];
    const [command = '', ...rest] = options.inside?.(words) ?? words;
    this.child = spawn(command, rest, {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...cleanEnvironment(), ...options.env },
    });
    const { stdout } = this.child;
    if (stdout === null) throw new Error('the program has no output');
    createInterface({ input: stdout }).on('line', (line) => this.#waiting.shift()?.(line));
    this.child.on('exit', () => {
      for (const resolve of this.#waiting.splice(0)) resolve('-1000 the program has ended');
    });
  }

  /** The answer, good or bad. */
  async ask(line: string): Promise<Reply> {
    const answer = new Promise<string>((resolve) => this.#waiting.push(resolve));
    this.child.stdin?.write(`${line}\n`);
    const text = await answer;
    const space = text.indexOf(' ');
    return { status: Number(text.slice(0, space)), text: text.slice(space + 1).trim() };
  }

  /** The answer's text; throws unless it is good. */
  async do(line: string): Promise<string> {
    const { status, text } = await this.ask(line);
    if (status === 0) return text;
    throw new Error(`${line.slice(0, 80)}: ${status} ${text}`);
  }

  kill(): Promise<unknown> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return Promise.resolve();
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    return ended;
  }
}
