// A real etcd on loopback for tests: own ports, own data directory, stoppable and restartable on
// the same data.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { TestContext } from 'node:test';
import { sleepMs } from '../../src/base/clock.js';

const START_MS_MAX = 60_000;
const TRIES = 3;
/** The end of what a server says is kept, to tell why it did not start. */
const SAID_MAX = 4096;

/** Why etcd tests cannot run here; undefined when they can. */
export function etcdSkipReason(): string | undefined {
  const directories = (process.env['PATH'] ?? '').split(delimiter);
  const isThere = directories.some((directory) => existsSync(join(directory, 'etcd')));
  return isThere ? undefined : 'needs etcd (Debian package etcd-server)';
}

export class EtcdServer {
  readonly url: string;
  readonly #peerUrl: string;
  readonly #directory: string;
  #child: ChildProcess | undefined;
  #said = '';

  private constructor(directory: string, clientPort: number, peerPort: number) {
    this.#directory = directory;
    this.url = `http://127.0.0.1:${clientPort}`;
    this.#peerUrl = `http://127.0.0.1:${peerPort}`;
  }

  /** A port that was free a moment ago may be another's by now: then with others. */
  static async start(t: TestContext): Promise<EtcdServer> {
    for (let triesLeft = TRIES; ; triesLeft--) {
      const directory = await mkdtemp(join(tmpdir(), 'etcd-test-'));
      const server = new EtcdServer(directory, await freePort(), await freePort());
      t.after(async () => {
        await server.stop();
        await rm(directory, { recursive: true, force: true });
      });
      try {
        await server.start();
        return server;
      } catch (error) {
        if (triesLeft === 1 || !server.#said.includes('address already in use')) throw error;
      }
    }
  }

  async start(): Promise<void> {
    const flags = {
      name: 'test',
      'data-dir': this.#directory,
      'listen-client-urls': this.url,
      'advertise-client-urls': this.url,
      'listen-peer-urls': this.#peerUrl,
      'initial-advertise-peer-urls': this.#peerUrl,
      'initial-cluster': `test=${this.#peerUrl}`,
    };
    const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
    const child = spawn('etcd', args, { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#child = child;
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#said = (this.#said + text).slice(-SAID_MAX);
    });
    const stopAtMs = performance.now() + START_MS_MAX;
    while (!(await this.#isHealthy())) {
      if (hasEnded(child) || performance.now() > stopAtMs) {
        throw new Error(`etcd at ${this.url} does not start: ${this.#said}`);
      }
      await sleepMs(50);
    }
  }

  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || hasEnded(child)) return;
    await new Promise((resolve) => {
      child.once('exit', resolve);
      child.kill('SIGKILL');
    });
  }

  async #isHealthy(): Promise<boolean> {
    try {
      const response = await fetch(`${this.url}/health`, { signal: AbortSignal.timeout(1000) });
      return (await response.text()).includes('true');
    } catch {
      return false;
    }
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}
