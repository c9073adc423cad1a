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

const START_MS_MAX = 15_000;

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

  private constructor(directory: string, clientPort: number, peerPort: number) {
    this.#directory = directory;
    this.url = `http://127.0.0.1:${clientPort}`;
    this.#peerUrl = `http://127.0.0.1:${peerPort}`;
  }

  static async start(t: TestContext): Promise<EtcdServer> {
    const directory = await mkdtemp(join(tmpdir(), 'etcd-test-'));
    const server = new EtcdServer(directory, await freePort(), await freePort());
    t.after(async () => {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    });
    await server.start();
    return server;
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
    this.#child = spawn('etcd', args, { stdio: 'ignore' });
    const stopAtMs = performance.now() + START_MS_MAX;
    while (!(await this.#isHealthy())) {
      if (performance.now() > stopAtMs) throw new Error(`etcd at ${this.url} does not start`);
      await sleepMs(50);
    }
  }

  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null) return;
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
