// Starts soak-target-main.ts as a child, asks it questions, and looks at what it holds from
// outside.

import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { SettingValues } from '../../src/base/settings.js';
import type { RegionDescriptor } from '../../src/memory/region.js';
import { residentBytes } from '../support/process-resources.js';
import type { SoakSample } from './soak-bounds.js';

const MAIN = fileURLToPath(new URL('./soak-target-main.js', import.meta.url));
/** Of a look at one that is too busy to answer. */
const ANSWER_MS = 30_000;

export interface SoakAddress {
  readonly port: number;
  readonly listenPort: number;
  readonly region: RegionDescriptor;
  /** For peers that are killed while they write. */
  readonly scratch: RegionDescriptor;
  /** Its metadata, in base64. */
  readonly blob: string;
}

export class SoakTarget {
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  #address: SoakAddress | undefined;

  /** With `--expose-gc` among the flags it collects its garbage before each look. */
  constructor(bytes: number, settings: Partial<SettingValues>, flags: readonly string[] = []) {
    const words = [MAIN, JSON.stringify({ bytes, settings })];
    const all = ['--max-semi-space-size=1', ...flags, ...words];
    this.#child = spawn(process.execPath, all, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.#child.stdout! });
  }

  async address(): Promise<SoakAddress> {
    this.#address ??= (await this.#answer()) as SoakAddress;
    return this.#address;
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async sample(): Promise<SoakSample> {
    const { port } = await this.address();
    const asked = (await this.#ask()) as { descriptors: number; sessions: number };
    const rssBytes = residentBytes(this.#child.pid ?? 0);
    return { ...asked, rssBytes, queueBytes: queueBytes(port) };
  }

  async #ask(): Promise<unknown> {
    const answer = this.#answer();
    this.#child.stdin?.write('\n');
    return answer;
  }

  async #answer(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const fail = (): void => reject(new Error('the target has died, or does not answer'));
      const timer = setTimeout(fail, ANSWER_MS);
      this.#child.once('exit', fail);
      this.#lines.once('line', (line) => {
        clearTimeout(timer);
        this.#child.off('exit', fail);
        resolve(JSON.parse(line));
      });
    });
  }

  /** Ends it by the end of its input; its exit code, null where it had to be killed. */
  async end(): Promise<number | null> {
    if (!this.isAlive) return this.#child.exitCode;
    const exited = new Promise<void>((resolve) => this.#child.once('exit', () => resolve()));
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), ANSWER_MS);
    this.#child.stdin?.end();
    await exited;
    clearTimeout(timer);
    return this.#child.exitCode;
  }
}

/**
 * Bytes in the queues of the target's own sockets: those whose own port is the one it listens on.
 */
function queueBytes(port: number): number {
  const own = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  let bytes = 0;
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n')) {
    const [, local = '', , state = '', queues = ''] = line.trim().split(/\s+/);
    if (!local.endsWith(own) || state === '0A') continue;
    for (const queue of queues.split(':')) bytes += Number.parseInt(queue, 16);
  }
  return bytes;
}
