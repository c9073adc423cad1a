// What a machine has in place of sockets: addresses, dialling, listening, random numbers and time,
// all virtual. The handshake of the product runs on it as it is.

import { assert } from '../../../src/base/assert.js';
import { TcpxError } from '../../../src/base/errors.js';
import type { Random } from '../../../src/base/random.js';
import type { ChannelRoute, LocalNic } from '../../../src/engine/nic-map.js';
import type {
  PeerConnection,
  PeerListener,
  PeerNetwork,
} from '../../../src/engine/peer-network.js';
import type { SocketAddress } from '../../../src/os/dial.js';
import type { SimPort } from './sim-connection.js';
import { type ControlRules, SimControl } from './sim-control.js';
import type { SimNetwork } from './sim-network.js';
import type { SimNode } from './sim-node.js';

/** The address that a machine has on a path; each path is a network of its own. */
export function hostOf(machine: string, path: number): string {
  const number = Number(machine.slice(1)) + 1;
  return `10.${number >> 8}.${path}.${number & 255}`;
}

/** The machine and the path of an address, with or without a port. */
export function placeOf(host: string): { readonly machine: string; readonly path: number } {
  const [high = Number.NaN, path = Number.NaN, low = Number.NaN] = host
    .split('.')
    .slice(1)
    .map((part) => Number.parseInt(part, 10));
  return { machine: `m${(high << 8) + low - 1}`, path };
}

export interface NodeNetworkOptions {
  readonly node: SimNode;
  readonly network: SimNetwork;
  readonly random: Random;
  readonly rules: ControlRules;
  readonly onWake: () => void;
}

export class NodeNetwork implements PeerNetwork {
  readonly bufferBytes = undefined;
  readonly #options: NodeNetworkOptions;
  #onAccepted: ((connection: PeerConnection) => void) | undefined;

  constructor(options: NodeNetworkOptions) {
    this.#options = options;
  }

  nowUs(): number {
    return this.#options.node.clock.nowUs();
  }

  sleepUntil(atUs: number): Promise<void> {
    const { node, onWake } = this.#options;
    return new Promise((resolve) => {
      node.timers.at(atUs, () => {
        onWake();
        resolve();
      });
    });
  }

  after(delayMs: number, act: () => void): () => void {
    return this.#options.node.timers.at(this.nowUs() + delayMs * 1000, act);
  }

  randomBytes(count: number): Uint8Array {
    const { random } = this.#options;
    return Uint8Array.from({ length: count }, () => random.nextBetween(0, 255));
  }

  resolve(host: string): Promise<string[]> {
    return Promise.resolve([host]);
  }

  dial(way: ChannelRoute, _port: number, timeoutMs: number): Promise<PeerConnection> {
    const { node, network, onWake } = this.#options;
    const { machine, path } = placeOf(way.host);
    return new Promise((resolve, reject) => {
      network.dial(node.name, machine, path, timeoutMs * 1000, (dialled) => {
        if (!node.isAlive) {
          if (typeof dialled === 'object') dialled.port.close(true);
          return;
        }
        // The main thread learns of it when it runs.
        node.inbox.push(() => {
          onWake();
          if (typeof dialled === 'object') resolve(this.#open(dialled.port, machine, path));
          else reject(dialError(way, dialled));
        });
      });
    });
  }

  #open(port: SimPort, peer: string, path: number): SimControl {
    const { node, rules, onWake } = this.#options;
    const ends = { peerHost: hostOf(peer, path), localHost: hostOf(node.name, path) };
    const control = new SimControl(port, ends, rules, {
      at: (atUs, act) => node.timers.at(atUs, act),
      onWake,
      onReleased: (released) => node.controls.delete(released),
    });
    node.controls.add(control);
    return control;
  }

  listen(_address: SocketAddress, onAccepted: (connection: PeerConnection) => void): PeerListener {
    const { node, network } = this.#options;
    this.#onAccepted = onAccepted;
    network.listen(node.name, {
      onConnected: (port, from, path) => {
        node.inbox.push(() => this.#onAccepted?.(this.#open(port, from, path)));
      },
    });
    return {
      address: { host: hostOf(node.name, 0), port: 1 },
      close: () => network.listen(node.name, undefined),
    };
  }

  nics(): LocalNic[] {
    const { node, network } = this.#options;
    return Array.from({ length: network.rules.paths }, (_, path) => ({
      name: `nic${path}`,
      address: hostOf(node.name, path),
      networks: [`${hostOf(node.name, path)}/24`],
    }));
  }

  assertNics(): void {
    assert(this.nics().length > 0, 'a simulated host has NICs');
  }

  nicOf(host: string): string {
    return this.nics().find(({ address }) => address === host)?.name ?? '';
  }
}

function dialError(way: ChannelRoute, outcome: 'refused' | 'timeout'): TcpxError {
  if (outcome === 'timeout') return new TcpxError('ERR_PEER_TIMEOUT', `dial ${way.host}`);
  return new TcpxError('ERR_PEER_UNREACHABLE', `dial ${way.host}`, { facts: { isRefused: true } });
}
