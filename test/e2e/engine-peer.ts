// Starts engine-peer-main.ts as a child and reads the facts that it prints.

import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { SettingValues } from '../../src/base/settings.js';
import type { RegionDescriptor } from '../../src/memory/region.js';

const MAIN = fileURLToPath(new URL('./engine-peer-main.js', import.meta.url));

const FACT_TIMEOUT_MS = 20_000;

export interface PeerFact {
  readonly port?: number;
  readonly descriptor?: RegionDescriptor;
  readonly session?: string;
  readonly writing?: boolean;
  readonly trust?: string;
  readonly nics?: readonly string[];
  readonly code?: string;
  readonly message?: string;
  /** Of its transfer. */
  readonly path?: string;
  readonly pathReason?: string;
}

export interface PeerOptions {
  readonly settings?: Partial<SettingValues>;
  readonly host: string;
  readonly port?: number;
  readonly bytes: number;
  readonly descriptor?: RegionDescriptor;
  /** Environment of the plugin processes. */
  readonly plugin?: Readonly<Record<string, string>>;
  /** Network namespace to run in. */
  readonly netns?: string;
}

export class EnginePeer {
  readonly child: ChildProcess;
  readonly #facts: PeerFact[] = [];
  #wake: () => void = () => undefined;

  constructor(role: 'target' | 'initiator' | 'once', options: PeerOptions) {
    const { netns, ...rest } = options;
    const words = [process.execPath, MAIN, role, JSON.stringify(rest)];
    if (netns !== undefined) words.unshift('ip', 'netns', 'exec', netns);
    const [program = '', ...others] = words;
    this.child = spawn(program, others, { stdio: ['pipe', 'pipe', 'inherit'] });
    let text = '';
    this.child.stdout?.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) this.#facts.push(JSON.parse(line) as PeerFact);
      this.#wake();
    });
    this.child.on('exit', () => this.#wake());
  }

  /** The first fact that has one of these fields, waiting for it. */
  async fact(...keys: readonly (keyof PeerFact)[]): Promise<PeerFact> {
    const endMs = performance.now() + FACT_TIMEOUT_MS;
    for (;;) {
      const found = this.#facts.find((fact) => keys.some((key) => fact[key] !== undefined));
      if (found !== undefined) return found;
      const hasEnded = this.child.exitCode !== null || this.child.signalCode !== null;
      if (hasEnded) throw new Error(`ended without ${keys.join()}: ${JSON.stringify(this.#facts)}`);
      await new Promise<void>((resolve, reject) => {
        const leftMs = endMs - performance.now();
        const timer = setTimeout(() => reject(new Error(`no ${keys.join()} in time`)), leftMs);
        this.#wake = () => {
          clearTimeout(timer);
          // Output may still be on its way when the exit is seen.
          setTimeout(resolve, 5);
        };
      });
    }
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }

  /** Lets it end by itself; returns its exit code. */
  async end(): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode;
    const exited = new Promise<void>((resolve) => this.child.once('exit', () => resolve()));
    this.child.stdin?.end();
    const timer = setTimeout(() => this.kill(), 5000);
    await exited;
    clearTimeout(timer);
    return this.child.exitCode;
  }
}
