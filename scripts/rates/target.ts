// The far side of the rates: an engine in a process of its own, which counts what arrives.

import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { SettingValues } from '../../src/base/settings.js';
import { Engine } from '../../src/engine/engine.js';
import type { RegionDescriptor } from '../../src/memory/region.js';

export const TARGET_BYTES = 1024 * 1024;

interface Start {
  readonly port: number;
  readonly region: RegionDescriptor;
}

/** Says when so many notifications have arrived since the last count. */
interface Count {
  readonly notifications: number;
}

export class RatesTarget {
  readonly #child: ChildProcess;
  readonly start: Start;

  private constructor(child: ChildProcess, start: Start) {
    this.#child = child;
    this.start = start;
  }

  static async open(settings: Partial<SettingValues> = {}): Promise<RatesTarget> {
    const child = fork(fileURLToPath(import.meta.url), [JSON.stringify(settings)]);
    return new RatesTarget(child, await answer<Start>(child));
  }

  get pid(): number {
    const { pid } = this.#child;
    if (pid === undefined) throw new Error('the target was not started');
    return pid;
  }

  /** Resolves when as many notifications have been read there. */
  async counted(notifications: number): Promise<void> {
    const order: Count = { notifications };
    this.#child.send(order);
    await answer(this.#child);
  }

  close(): void {
    this.#child.disconnect();
  }
}

function answer<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const onExit = (): void => reject(new Error('the target has ended'));
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.off('exit', onExit);
      resolve(message as T);
    });
  });
}

async function serve(settings: Partial<SettingValues>): Promise<void> {
  let seen = 0;
  let wanted = Number.POSITIVE_INFINITY;
  const report = (): void => {
    if (seen < wanted) return;
    seen -= wanted;
    wanted = Number.POSITIVE_INFINITY;
    process.send?.({});
  };
  const onNotification = (): void => {
    seen++;
    report();
  };
  const engine = await Engine.open({ settings, onNotification });
  const region = engine.register(new Uint8Array(TARGET_BYTES));
  process.on('message', ({ notifications }: Count) => {
    wanted = notifications;
    report();
  });
  process.on('disconnect', () => void engine.close());
  const start: Start = { port: engine.listen('127.0.0.1:0'), region: region.descriptor };
  process.send?.(start);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await serve(JSON.parse(process.argv[2] ?? '{}') as Partial<SettingValues>);
}
