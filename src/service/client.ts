// A client that is attached: its engine, its memory, its peers and its requests. Whatever it does
// wrong costs it alone; when it goes, everything that it held goes with it.

import { TcpxError, toTcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { MESSAGE_KINDS, SERVICE_NOTIFICATION_BYTES_MAX } from '../base/service-layout.js';
import { serviceStatus, serviceStatusOf } from '../base/service-status.js';
import type { SettingValues } from '../base/settings.js';
import type { NixlNotification } from '../nixl/notif-codec.js';
import { isOvercommitForbidden } from '../os/overcommit.js';
import { BusyEngine } from './busy-engine.js';
import type { ClientEngine } from './client-engine.js';
import type { ClientMapping } from './client-mapping.js';
import { ClientMemory } from './client-memory.js';
import { ClientPeers } from './client-peers.js';
import { ClientRequests } from './client-requests.js';
import type { Command } from './command-ring.js';
import {
  decodePrepare,
  decodeRegister,
  encodeNumbered,
  encodeText,
  PayloadReader,
} from './message-codec.js';
import type { Message } from './message-stream.js';

/** A client can give pages of its file back at any time, so that to reserve them does not help. */
const OVERCOMMIT =
  'vm.overcommit_memory is 2, where a page of a shared file may be refused by a signal: ' +
  'pass ordinary memory, which is copied';
/** Commands of one client in one turn; then the others have theirs. */
const COMMANDS_PER_TURN = 64;

export interface ClientOptions {
  readonly name: string;
  readonly pid: number;
  readonly engine: ClientEngine;
  readonly mapping: ClientMapping;
  /** Why its host memory cannot be copied; empty where it can. */
  readonly copyObstacle: string;
  readonly values: SettingValues;
  /** How long its engine is looked at again after there was something. */
  readonly lookUs: number;
  readonly log: Log;
  /** Something happened outside of a turn that it should hear of. */
  onNews(): void;
}

export class Client {
  readonly name: string;
  readonly pid: number;
  readonly mapping: ClientMapping;
  readonly #engine: ClientEngine;
  readonly #busy: BusyEngine;
  readonly #memory: ClientMemory;
  readonly #peers: ClientPeers;
  readonly #requests: ClientRequests;
  readonly #blocksMax: number;
  readonly #log: Log;
  /** Taken from the engine, and not yet fitting into the ring. */
  #waiting: NixlNotification[] = [];

  constructor(options: ClientOptions) {
    const { engine, mapping, values } = options;
    this.name = options.name;
    this.pid = options.pid;
    this.mapping = mapping;
    this.#engine = engine;
    this.#busy = new BusyEngine(engine, options.lookUs);
    this.#log = options.log;
    this.#blocksMax = values['service.blocksMax'];
    this.#memory = new ClientMemory(engine, {
      copyObstacle: options.copyObstacle,
      shareObstacle: isOvercommitForbidden() ? OVERCOMMIT : '',
      regionsMax: values['memory.regionsMax'],
    });
    const limits = {
      peersMax: values['service.peersMax'],
      regionsMax: values['service.remoteRegionsMax'],
    };
    this.#peers = new ClientPeers(engine, mapping, limits, () => options.onNews());
    this.#requests = new ClientRequests({
      engine,
      memory: this.#memory,
      peers: this.#peers,
      mapping,
      requestsMax: values['service.requestsMax'],
    });
  }

  /** One turn: whether there was something to do. Throws where the client breaks a rule. */
  turn(): boolean {
    let count = 0;
    while (count < COMMANDS_PER_TURN) {
      const command = this.mapping.commands.take();
      if (command === undefined) break;
      this.#obey(command);
      count++;
    }
    const hasMoved = this.#busy.turn(count > 0, this.#requests.hasActive);
    if (this.#requests.hasActive) this.#requests.collect();
    this.#deliver();
    return this.mapping.publishNews() || count > 0 || hasMoved;
  }

  /** False: something came in between, so do not sleep. */
  sleep(): boolean {
    return this.#busy.sleep() && this.mapping.sleep();
  }

  #obey(command: Command): void {
    switch (command.kind) {
      case 'post':
        this.#requests.post(command.request, command.number, command.notify, command.deadlineMs);
        break;
      case 'cancel':
        this.#requests.cancel(command.request, command.number);
        break;
      case 'notify':
        this.#notify(command.peer, command.message);
        break;
    }
  }

  // Nobody waits for the outcome: what cannot be sent is said in the log.
  #notify(peer: number, message: Uint8Array): void {
    try {
      this.#peers.get(peer).send(message);
    } catch (error) {
      const { code, message: reason } = toTcpxError(error, 'ERR_XFER_FAILED', 'notify');
      this.#log.warn('notification not sent', { client: this.name, code, reason });
    }
  }

  #deliver(): void {
    if (this.#waiting.length === 0) {
      if (!this.#engine.hasNotifications) return;
      this.#waiting = this.#engine.drainNotifications();
    }
    let taken = 0;
    for (const { agent, message } of this.#waiting) {
      if (message.length > SERVICE_NOTIFICATION_BYTES_MAX) {
        const fields = { client: this.name, from: agent, bytes: message.length };
        this.#log.warn('notification too long for a client, dropped', fields);
      } else if (!this.mapping.putNotification(Buffer.from(agent), message)) {
        break;
      }
      taken++;
    }
    if (taken > 0) this.#waiting.splice(0, taken);
  }

  /** The answer to a message; throws what the client is told in its place. */
  async answer(message: Message, descriptors: readonly number[]): Promise<Uint8Array> {
    const { kind, payload } = message;
    const reader = new PayloadReader(payload, `message ${kind}`, 4);
    const first = reader.int32(0);
    switch (kind) {
      case MESSAGE_KINDS.REGISTER: {
        const { id, entry } = this.#memory.register(decodeRegister(payload), descriptors);
        return encodeNumbered(id, entry.key);
      }
      case MESSAGE_KINDS.DEREGISTER:
        await this.#memory.deregister(first);
        return encodeText('');
      case MESSAGE_KINDS.LOAD_PEER:
        return encodeNumbered(this.#peers.load(reader.text(4, first), reader.rest(4 + first)));
      case MESSAGE_KINDS.CONNECT:
        return encodeNumbered(this.#peers.connect(first));
      case MESSAGE_KINDS.DISCONNECT:
        await this.#peers.disconnect(first);
        return encodeText('');
      case MESSAGE_KINDS.FIND_PEER:
        return encodeNumbered(this.#engine.hasPeerConnected(reader.text(4, first)) ? 1 : 0);
      case MESSAGE_KINDS.LOAD_REGION:
        return encodeNumbered(this.#loadRegion(payload));
      case MESSAGE_KINDS.UNLOAD_REGION:
        this.#peers.unloadRegion(first);
        return encodeText('');
      case MESSAGE_KINDS.PREPARE:
        return encodeNumbered(this.#requests.prepare(decodePrepare(payload, this.#blocksMax)));
      case MESSAGE_KINDS.RELEASE:
        return this.#release(first);
      case MESSAGE_KINDS.EXPLAIN:
        return encodeText(this.#explain(first, payload));
      case MESSAGE_KINDS.RECEIPT:
        return encodeText(this.#requests.receipt(first));
      case MESSAGE_KINDS.TELEMETRY:
        return encodeText(this.#telemetry());
      default:
        throw new TcpxError('ERR_WIRE_FRAME', `socket: message ${kind} in this state`);
    }
  }

  #telemetry(): string {
    const { provider, providerReason } = this.#engine;
    return JSON.stringify({ provider, providerReason, rails: this.#requests.rails.list() });
  }

  #release(number: number): Uint8Array {
    if (this.#requests.release(number)) return encodeText('');
    throw new TcpxError('ERR_USAGE_REGION_BUSY', `release request ${number}: it is in flight`);
  }

  #loadRegion(payload: Uint8Array): number {
    const reader = new PayloadReader(payload, 'LOAD_REGION', 16);
    return this.#peers.loadRegion(reader.int32(0), reader.rest(16), reader.uint64(8));
  }

  /** First word: 0 a request, 1 a peer; second: which. */
  #explain(what: number, payload: Uint8Array): string {
    const number = new PayloadReader(payload, 'EXPLAIN', 8).int32(4);
    return what === 0 ? this.#requests.explain(number) : this.#peers.explain(number);
  }

  /** At once: the reason stands in the memory that the client shares before its socket closes. */
  tellEnd(error: TcpxError | undefined): void {
    const isRule = error !== undefined;
    this.mapping.end(isRule ? serviceStatusOf(error) : serviceStatus('ERR_SERVICE_GONE'));
  }

  /** Lets go of everything. */
  async close(): Promise<void> {
    await this.#engine.close();
    this.#memory.releaseAll();
    this.mapping.close();
  }
}
