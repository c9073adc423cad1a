// Two processes that move GPU memory over loopback TCP, on a real GPU or on simulated ones: this
// end posts, the forked end (gpu-loopback-main.ts) opens, fills and verifies its memory.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createLog } from '../../src/base/log.js';
import type { SettingValues } from '../../src/base/settings.js';
import { Engine } from '../../src/engine/engine.js';
import type { Region, RegionDescriptor } from '../../src/memory/region.js';
import { type MemoryKind, openPatternMemory, type PatternMemory } from './pattern-memory.js';
import { SIMULATED_GPU_MODULE } from './simulated-gpu.js';

export type Hardware = 'simulated' | 'cuda';

export interface LoopbackQuestion {
  readonly kind: 'open' | 'fill' | 'verify' | 'close';
  readonly memory: MemoryKind;
  readonly count: number;
  readonly blockBytes: number;
  readonly seed: number;
}

export interface LoopbackAnswer {
  readonly port: number;
  /** First byte that differs, −1 for none. */
  readonly mismatchAt: number;
  readonly descriptor?: RegionDescriptor;
  readonly failure?: string;
}

/** Blocks of one size; the peer has them in reverse order, so that no two merge. */
export function layOut(count: number, blockBytes: number) {
  return Array.from({ length: count }, (_, index) => ({
    localOffset: index * blockBytes,
    remoteOffset: (count - 1 - index) * blockBytes,
    bytes: blockBytes,
  }));
}

export interface LoopbackShape {
  readonly here: 'dram' | 'vram';
  readonly there: 'dram' | 'vram';
  readonly count: number;
  readonly blockBytes: number;
}

export class GpuLoopback {
  readonly engine: Engine;
  readonly port: number;
  readonly #child: ChildProcess;
  readonly #hardware: Hardware;

  private constructor(engine: Engine, port: number, child: ChildProcess, hardware: Hardware) {
    this.engine = engine;
    this.port = port;
    this.#child = child;
    this.#hardware = hardware;
  }

  static async open(
    hardware: Hardware,
    settings: Partial<SettingValues> = {},
  ): Promise<GpuLoopback> {
    const path = fileURLToPath(new URL('gpu-loopback-main.js', import.meta.url));
    const child = fork(path, [hardware, JSON.stringify(settings)], { execArgv: [] });
    const [started] = (await once(child, 'message')) as [LoopbackAnswer];
    const gpus = hardware === 'simulated' ? { gpuModule: SIMULATED_GPU_MODULE } : {};
    const log = createLog({ level: 'error', format: 'text' });
    const engine = await Engine.open({ settings, log, ...gpus });
    return new GpuLoopback(engine, started.port, child, hardware);
  }

  async ask(question: LoopbackQuestion): Promise<LoopbackAnswer> {
    this.#child.send(question);
    const [answer] = (await once(this.#child, 'message')) as [LoopbackAnswer];
    if (answer.failure !== undefined) throw new Error(`peer: ${answer.failure}`);
    return answer;
  }

  kindOf(kind: 'dram' | 'vram'): MemoryKind {
    return kind === 'vram' && this.#hardware === 'simulated' ? 'simulated' : kind;
  }

  /** One write and one read of all blocks, each verified where it landed; −1, −1 when right. */
  async moveBothWays(shape: LoopbackShape): Promise<{ write: number; read: number }> {
    const { here, there, count, blockBytes } = shape;
    const base = { memory: this.kindOf(there), count, blockBytes };
    const { descriptor } = await this.ask({ ...base, kind: 'open', seed: 0 });
    if (descriptor === undefined) throw new Error('the peer opened no region');
    const memory = openPatternMemory(this.kindOf(here), count * blockBytes);
    const local = this.engine.register(memory.source);
    const session = await this.engine.connect('127.0.0.1', this.port);
    const blocks = layOut(count, blockBytes).map((one) => ({ ...one, local, remote: descriptor }));
    memory.fill(0, count * blockBytes, 1, 0);
    memory.settle();
    await session.write(blocks).done;
    const { mismatchAt: write } = await this.ask({ ...base, kind: 'verify', seed: 1 });
    await this.ask({ ...base, kind: 'fill', seed: 2 });
    await session.read(blocks).done;
    const read = memory.findMismatch(0, count * blockBytes, 2, 0);
    await session.close();
    await this.ask({ ...base, kind: 'close', seed: 0 });
    await this.#drop(local, memory);
    return { write, read };
  }

  /** The other process stands still, lanes and all, while its kernel goes on. */
  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  async #drop(region: Region, memory: PatternMemory): Promise<void> {
    await this.engine.deregister(region, 2000);
    memory.free();
  }

  async close(): Promise<void> {
    await this.engine.close();
    this.#child.disconnect();
    await once(this.#child, 'exit');
  }
}
