// Two processes with a transfer between them, and somebody who breaks things meanwhile. Each lives
// in a network namespace of the lab; what they print is kept with its time.

import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { SettingValues } from '../../src/base/settings.js';
import type { RegionDescriptor } from '../../src/memory/region.js';
import type { Receipt } from '../../src/provider/receipt.js';
import type { NetLab } from '../support/net-lab.js';
import type { FaultPeerOptions } from './fault-peer-main.js';

const MAIN = fileURLToPath(new URL('./fault-peer-main.js', import.meta.url));
/** On which the target listens, in its own network namespace. */
export const FAULT_PORT = 20300;
const SECRET = 'a secret for faults, long enough';

export interface Fact {
  readonly atMs: number;
  readonly log?: string;
  readonly port?: number;
  readonly descriptor?: RegionDescriptor;
  readonly connected?: boolean;
  readonly posted?: boolean;
  readonly nics?: Readonly<Record<string, number>>;
  readonly notified?: string;
  readonly receipt?: Receipt;
  readonly mismatch?: number;
  readonly code?: string;
  readonly message?: string;
  readonly facts?: Readonly<Record<string, unknown>>;
}

export class FaultPeer {
  readonly child: ChildProcess;
  readonly facts: Fact[] = [];
  exitedMs = 0;

  constructor(words: readonly string[]) {
    const [program = '', ...rest] = words;
    this.child = spawn(program, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
    let text = '';
    this.child.stdout?.setEncoding('utf8').on('data', (part: string) => {
      const lines = (text + part).split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) this.facts.push(JSON.parse(line) as Fact);
    });
    this.child.on('exit', () => (this.exitedMs = Date.now()));
  }

  get hasExited(): boolean {
    return this.exitedMs > 0;
  }

  find(isIt: (fact: Fact) => boolean): Fact | undefined {
    return this.facts.find(isIt);
  }

  /** The first fact of this kind; waits for it, and fails when the process ends without it. */
  async next(what: string, isIt: (fact: Fact) => boolean, limitMs = 30_000): Promise<Fact> {
    const endMs = Date.now() + limitMs;
    for (;;) {
      const found = this.find(isIt);
      if (found !== undefined) return found;
      const tail = JSON.stringify(this.facts.filter((fact) => fact.nics === undefined).slice(-5));
      if (this.hasExited) throw new Error(`ended without ${what}: ${tail}`);
      if (Date.now() > endMs) throw new Error(`no ${what} within ${limitMs} ms: ${tail}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** Log lines with this text in them. */
  logged(text: string): Fact[] {
    return this.facts.filter((fact) => fact.log?.includes(text) === true);
  }
}

export interface FaultRunOptions {
  readonly lab: NetLab;
  readonly bytes: number;
  readonly operation: 'write' | 'read';
  readonly settings?: Partial<SettingValues>;
  /** The target's alone. */
  readonly targetSettings?: Partial<SettingValues>;
  readonly deadlineMs?: number;
  /** The link that carries the control connection and no data. */
  readonly controlLink?: number;
  /** The initiator posts and closes when it is told to. */
  readonly isLed?: boolean;
}

export class FaultRun {
  readonly lab: NetLab;
  readonly target: FaultPeer;
  readonly initiator: FaultPeer;

  private constructor(lab: NetLab, target: FaultPeer, initiator: FaultPeer) {
    this.lab = lab;
    this.target = target;
    this.initiator = initiator;
  }

  /** Starts both; returns when the transfer has been posted, or could be. */
  static async start(options: FaultRunOptions): Promise<FaultRun> {
    const { lab, controlLink, isLed = false } = options;
    const control = controlLink === undefined ? undefined : lab.links[controlLink];
    const host = (control ?? lab.links[0])?.rightHost ?? '';
    const make = (role: 'target' | 'initiator', extra: Partial<FaultPeerOptions>): FaultPeer => {
      const nics = lab.links
        .filter((link) => link !== control)
        .map((link) => (role === 'target' ? link.rightNic : link.leftNic));
      const peer: FaultPeerOptions = {
        host,
        port: FAULT_PORT,
        bytes: options.bytes,
        operation: options.operation,
        settings: {
          'trust.secret': SECRET,
          'flow.channels': 4,
          'session.nics': nics.join(','),
          'session.ctrlInterface': role === 'target' ? '' : (control?.leftNic ?? ''),
          ...options.settings,
          ...(role === 'target' ? options.targetSettings : {}),
        },
        ...(options.deadlineMs === undefined ? {} : { deadlineMs: options.deadlineMs }),
        isLed,
        ...extra,
      };
      const words = [process.execPath, MAIN, role, JSON.stringify(peer)];
      const end = role === 'target' ? 'right' : 'left';
      return new FaultPeer(lab.inside(end, words));
    };
    const target = make('target', {});
    const { descriptor } = await target.next('port', (fact) => fact.port !== undefined);
    const initiator = make('initiator', descriptor === undefined ? {} : { descriptor });
    const run = new FaultRun(lab, target, initiator);
    try {
      if (isLed) await initiator.next('session', (fact) => fact.connected === true);
      else await initiator.next('post', (fact) => fact.posted === true);
    } catch (error) {
      await run.end();
      throw error;
    }
    return run;
  }

  /** Tells an initiator that is led what to do next. */
  order(what: 'post' | 'close'): void {
    this.initiator.child.stdin?.write(`${what}\n`);
  }

  async receipt(limitMs?: number): Promise<Fact & { readonly receipt: Receipt }> {
    const fact = await this.initiator.next('receipt', (one) => one.receipt !== undefined, limitMs);
    if (fact.receipt === undefined) throw new Error('no receipt');
    return { ...fact, receipt: fact.receipt };
  }

  /** Index of the first wrong byte, −1 for none. */
  async mismatch(): Promise<number> {
    const fact = await this.initiator.next('check', (one) => one.mismatch !== undefined, 60_000);
    return fact.mismatch ?? 0;
  }

  /** Notifications that the target's program got for the transfer. */
  get landedCount(): number {
    return this.target.facts.filter((fact) => fact.notified === 'landed').length;
  }

  /** Both are gone afterwards, and their port is free. */
  async end(): Promise<void> {
    const peers = [this.target, this.initiator];
    for (const peer of peers) if (!peer.hasExited) peer.child.kill('SIGKILL');
    while (peers.some((peer) => !peer.hasExited)) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}
