// The one target of many initiators, in a process of its own: one engine, a region for each.

import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../src/base/config.js';
import { createLog } from '../../src/base/log.js';
import type { SettingValues } from '../../src/base/settings.js';
import { Engine } from '../../src/engine/engine.js';
import type { TransferRequest } from '../../src/engine/session.js';
import type { RegionDescriptor } from '../../src/memory/region.js';

export const MIB = 1024 * 1024;

interface Start {
  readonly port: number;
  readonly descriptors: readonly RegionDescriptor[];
}

export interface TargetEnd {
  readonly alarms: number;
  readonly residentMiB: number;
}

/** An engine whose complaints about channels are counted. */
export function openEngine(
  settings: Partial<SettingValues>,
  onAlarm: () => void = () => undefined,
): Promise<Engine> {
  const options = { 'session.local': 'tcp', ...settings } as const;
  const config = loadConfig({ options, environment: {} });
  const write = (line: string): void => {
    if (line.includes('channel')) onAlarm();
  };
  return Engine.open({ config, log: createLog({ level: 'warn', format: 'text', write }) });
}

export class Target {
  readonly #child: ChildProcess;
  readonly #start: Start;

  private constructor(child: ChildProcess, start: Start) {
    this.#child = child;
    this.#start = start;
  }

  /** A region of so many bytes for each initiator. */
  static async open(regionBytes: readonly number[]): Promise<Target> {
    const child = fork(fileURLToPath(import.meta.url), regionBytes.map(String));
    return new Target(child, await next<Start>(child));
  }

  /** A write of the whole region of that index, prepared over a session of its own. */
  async prepareWrite(engine: Engine, index: number): Promise<TransferRequest> {
    const remote = this.#start.descriptors[index];
    if (remote === undefined) throw new Error(`no region ${index}`);
    const { bytes } = remote;
    const local = engine.register(new Uint8Array(bytes));
    const session = await engine.connect('127.0.0.1', this.#start.port);
    return session.prepare('write', [{ local, localOffset: 0, remote, remoteOffset: 0, bytes }]);
  }

  async end(): Promise<TargetEnd> {
    const ended = next<TargetEnd>(this.#child);
    this.#child.send('end');
    return await ended;
  }
}

/** Writes the region again and again; the sum of what landed. */
export async function writeUntil(
  endMs: number,
  request: TransferRequest,
  bytes: number,
): Promise<number> {
  let landed = 0;
  while (performance.now() < endMs) {
    await request.post().done;
    landed += bytes;
  }
  return landed;
}

function next<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve) => child.once('message', resolve as never));
}

async function runTarget(regionBytes: readonly number[]): Promise<void> {
  // The parent is gone, whatever the reason: leave, and let the kernel close what is open.
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  let alarms = 0;
  const engine = await openEngine({ 'session.peersMax': regionBytes.length }, () => alarms++);
  const descriptors = regionBytes.map((bytes) => engine.register(new Uint8Array(bytes)).descriptor);
  process.on('message', () => {
    const residentMiB = Math.round(process.memoryUsage().rss / MIB);
    process.send?.({ alarms, residentMiB } satisfies TargetEnd, () => process.exit(0));
  });
  const port = engine.listen({ host: '127.0.0.1', port: 0 });
  process.send?.({ port, descriptors } satisfies Start);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await runTarget(process.argv.slice(2).map(Number));
}
