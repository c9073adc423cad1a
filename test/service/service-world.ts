// Services and programs of one test: started in folders of their own, and gone with it.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../e2e/child.js';
import { cleanEnvironment } from '../native/plugin-environment.js';
import { LineProgram, type ProgramOptions } from './line-program.js';

const START_MS_MAX = 20_000;
/** As on a host with cores to spare, unless a test is about the other. */
const OWN_LANE = { NIXL_TCPX_LANE_OWN: 'on' };

export interface ServiceOptions {
  readonly folder?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly inside?: (words: readonly string[]) => readonly string[];
}

export class RunningService {
  readonly folder: string;
  readonly child: ChildProcess;
  stderr = '';

  constructor(folder: string, { env = {}, inside = (words) => words }: ServiceOptions) {
    this.folder = folder;
    const words = [process.execPath, 'bin/tcpx.js', 'serve', '--folder', folder, '--json'];
    const [command = '', ...rest] = inside(words);
    this.child = spawn(command, rest, {
      cwd: packageRoot,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...cleanEnvironment(), ...OWN_LANE, ...env },
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
  }

  /** Until it has said where it listens; throws what it said instead. */
  async ready(): Promise<this> {
    const { stdout } = this.child;
    if (stdout === null) throw new Error('the service has no output');
    const ended = once(this.child, 'exit').then(() => 'ended');
    const said = once(stdout, 'data', { signal: AbortSignal.timeout(START_MS_MAX) });
    const first = await Promise.race([said, ended]);
    if (first === 'ended') throw new Error(`the service has ended: ${this.stderr}`);
    const text = String(first[0]);
    const report = JSON.parse(text) as {
      schema: string;
      error?: { code: string; message: string };
    };
    if (report.schema !== 'tcpx.serve/1') {
      throw new Error(`${report.error?.code}: ${report.error?.message}`);
    }
    return this;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Resident memory, in KiB. */
  residentKiB(): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0);
  }

  async end(signal: NodeJS.Signals): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const ended = once(this.child, 'exit');
      this.child.kill(signal);
      await ended;
    }
    return this.child.exitCode;
  }
}

/** One end of a transfer: memory, and what a peer has to be told of it. */
export interface End {
  readonly program: LineProgram;
  readonly name: string;
  readonly info: string;
}

export class ServiceWorld {
  readonly #folders: string[] = [];
  readonly #services: RunningService[] = [];
  readonly #programs: LineProgram[] = [];

  newFolder(): string {
    const folder = mkdtempSync(join(tmpdir(), 'tcpx-service-'));
    this.#folders.push(folder);
    return folder;
  }

  async service(options: ServiceOptions = {}): Promise<RunningService> {
    const service = new RunningService(options.folder ?? this.newFolder(), options);
    this.#services.push(service);
    return service.ready();
  }

  program(options: ProgramOptions = {}): LineProgram {
    const program = new LineProgram(options);
    this.#programs.push(program);
    return program;
  }

  /** A program that is attached under this name. */
  async end(service: RunningService, name: string, options: ProgramOptions = {}): Promise<End> {
    const program = this.program(options);
    const info = await program.do(`open ${service.folder} ${name}`);
    return { program, name, info };
  }

  async close(): Promise<void> {
    await Promise.all(this.#programs.map((program) => program.kill()));
    await Promise.all(this.#services.map((service) => service.end('SIGKILL')));
    for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true });
  }
}

export interface Memory {
  readonly id: string;
  readonly way: string;
  readonly key: string;
  readonly bytes: number;
}

export async function addMemory(end: End, bytes: number, kind: string): Promise<Memory> {
  const text = await end.program.do(`memory ${bytes} ${kind}`);
  const [id = '', way = '', ...key] = text.split(' ');
  return { id, way, key: key.join(' '), bytes };
}

/** What `from` calls the peer and its memory. */
export async function load(from: End, to: Pick<End, 'name' | 'info'>, memory: Memory) {
  const peer = await from.program.do(`peer ${to.name} ${to.info}`);
  const region = await from.program.do(`region ${peer} ${memory.bytes} ${memory.key}`);
  return { peer, region };
}
