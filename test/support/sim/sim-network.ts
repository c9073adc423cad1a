// Machines and the paths between them: who can be dialled, and what freezes together.

import type { Random } from '../../../src/base/random.js';
import { type IoRules, SimConnection, type SimPort } from './sim-connection.js';
import { PIPE_BYTES_MAX } from './sim-pipe.js';
import type { SimTime } from './sim-time.js';

/** One way between two machines, as over one NIC. */
class SimPath {
  /** Nothing passes before this time. */
  frozenUs = 0;
}

/** What a machine does with a connection that came in. */
export interface Listener {
  onConnected(port: SimPort, from: string, path: number): void;
}

export type DialOutcome = { readonly port: SimPort } | 'refused' | 'timeout';

export interface NetworkRules {
  readonly delayUs: number;
  readonly jitterUs: number;
  readonly io: IoRules;
  readonly pipeBytes: number;
  readonly paths: number;
}

export interface Wire {
  readonly connection: SimConnection;
  readonly path: SimPath;
  /** Machines at its ends, a being the one that dialled. */
  readonly a: string;
  readonly b: string;
}

export class SimNetwork {
  readonly rules: NetworkRules;
  readonly wires: Wire[] = [];
  /** Machines that let go of data slowly, or of none: bytes per second, by name. */
  readonly rates = new Map<string, number>();
  readonly #time: SimTime;
  readonly #random: Random;
  readonly #paths = new Map<string, SimPath>();
  readonly #listeners = new Map<string, Listener>();
  readonly #ports = new Map<number, SimPort>();
  #nextFd = 10;

  constructor(time: SimTime, random: Random, rules: NetworkRules) {
    this.#time = time;
    this.#random = random;
    this.rules = rules;
  }

  delayUs(): number {
    const { delayUs, jitterUs } = this.rules;
    return delayUs + this.#random.nextBetween(0, jitterUs);
  }

  path(a: string, b: string, index: number): SimPath {
    const key = `${a < b ? `${a}-${b}` : `${b}-${a}`}-${index % this.rules.paths}`;
    let path = this.#paths.get(key);
    if (path === undefined) {
      path = new SimPath();
      this.#paths.set(key, path);
    }
    return path;
  }

  listen(machine: string, listener: Listener | undefined): void {
    if (listener === undefined) this.#listeners.delete(machine);
    else this.#listeners.set(machine, listener);
  }

  port(fd: number): SimPort {
    const port = this.#ports.get(fd);
    if (port === undefined) throw new Error(`no connection ${fd}`);
    return port;
  }

  dial(
    from: string,
    to: string,
    pathIndex: number,
    timeoutUs: number,
    onDone: (outcome: DialOutcome) => void,
  ): void {
    const path = this.path(from, to, pathIndex);
    const endUs = this.#time.nowUs + timeoutUs;
    const attempt = (): void => {
      const { nowUs } = this.#time;
      if (path.frozenUs > nowUs) {
        // Packets are sent again: it gets through when the path carries again.
        if (path.frozenUs < endUs) this.#time.at(path.frozenUs + this.delayUs(), attempt);
        else this.#time.at(endUs, () => onDone('timeout'));
        return;
      }
      const listener = this.#listeners.get(to);
      if (listener === undefined) {
        onDone('refused');
        return;
      }
      const port = this.#connect(path, from, to);
      listener.onConnected(port.connection.b, from, pathIndex);
      onDone({ port });
    };
    this.#time.after(2 * this.delayUs(), attempt);
  }

  #connect(path: SimPath, a: string, b: string): SimPort {
    const { io, pipeBytes } = this.rules;
    const pipe = {
      bytes: Math.min(pipeBytes, PIPE_BYTES_MAX),
      delayUs: () => this.delayUs(),
      openUs: () => path.frozenUs,
    };
    const rates = { a: () => this.#rate(a), b: () => this.#rate(b) };
    const connection = new SimConnection(this.#time, pipe, rates, io, this.#nextFd);
    this.#nextFd += 2;
    this.#ports.set(connection.a.fd, connection.a);
    this.#ports.set(connection.b.fd, connection.b);
    this.wires.push({ connection, path, a, b });
    return connection.a;
  }

  #rate(machine: string): number {
    return this.rates.get(machine) ?? Number.POSITIVE_INFINITY;
  }

  /** A machine stops at once: its ends are gone, and the others may or may not be told. */
  crash(machine: string, isSilent: boolean): void {
    this.listen(machine, undefined);
    for (const wire of this.wires) {
      for (const port of portsOf(wire, machine)) {
        if (isSilent) wire.connection.cutSilently();
        port.close(true);
      }
    }
  }

  /** When the next bytes arrive anywhere. */
  get nextUs(): number {
    let nextUs = Number.POSITIVE_INFINITY;
    for (const { connection } of this.wires) nextUs = Math.min(nextUs, connection.nextUs);
    return nextUs;
  }

  /** Connections that are closed at both ends are forgotten. */
  sweep(): void {
    for (const wire of this.wires.filter(({ connection }) => connection.isOver)) {
      this.#forget(wire);
    }
  }

  /** Ends of a machine that are still open. */
  openPorts(machine: string): SimPort[] {
    return this.wires.flatMap((wire) => portsOf(wire, machine)).filter((port) => !port.isClosed);
  }

  #forget(wire: Wire): void {
    this.wires.splice(this.wires.indexOf(wire), 1);
    this.#ports.delete(wire.connection.a.fd);
    this.#ports.delete(wire.connection.b.fd);
    wire.connection.destroy();
  }

  destroy(): void {
    for (const wire of [...this.wires]) this.#forget(wire);
  }
}

function portsOf(wire: Wire, machine: string): SimPort[] {
  const ports: SimPort[] = [];
  if (wire.a === machine) ports.push(wire.connection.a);
  if (wire.b === machine) ports.push(wire.connection.b);
  return ports;
}
