// From a connection to a client: who connects is asked of the kernel, the version is compared, the
// client's memory is probed, and an engine is opened in its name. It ends with the connection, or
// with the process: a child that has inherited the socket keeps nothing alive.

import type { Config } from '../base/config.js';
import { TcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { MESSAGE_KINDS, SERVICE_VERSION } from '../base/service-layout.js';
import { errnoName } from '../ffi/libc/errno.js';
import { closeFd } from '../ffi/libc/file-descriptor.js';
import { readProcess } from '../ffi/libc/process-memory.js';
import { openPeerPidfd, type PeerCredentials, peerCredentials } from '../ffi/libc/unix-socket.js';
import type { ControlSet } from '../os/control-set.js';
import { Bell } from './bell.js';
import { Client } from './client.js';
import { ClientEngine } from './client-engine.js';
import { ClientMapping } from './client-mapping.js';
import { type Answer, Connection, type ConnectionHost } from './connection.js';
import { type AttachWish, decodeAttach, encodeAttached, encodeText } from './message-codec.js';
import type { Message } from './message-stream.js';
import type { Pumped } from './pump.js';

/** From connecting to ATTACH. */
const SILENT_MS_MAX = 5000;

export interface AttachmentHost {
  readonly set: ControlSet;
  readonly config: Config;
  /** How long the service looks again before it sleeps. */
  readonly lookUs: number;
  readonly log: Log;
  /** Throws where there is no room for one more; otherwise its place, until onLeft. */
  admit(): number;
  onLeft(place: number): void;
  /** With an engine that accepts peers on loopback alone, or not. */
  onAttached(isForLoopbackAlone: boolean): void;
  onNews(): void;
  onEnded(attachment: Attachment): void;
}

export class Attachment implements ConnectionHost, Pumped {
  readonly #host: AttachmentHost;
  readonly #credentials: PeerCredentials;
  readonly #pidfd: number;
  readonly #connection: Connection;
  readonly #silence: NodeJS.Timeout;
  readonly #bell: Bell;
  /** From being admitted until nothing of its engine is left: its port is free again then. */
  #place: number | undefined;
  #client: Client | undefined;
  #attaching: Promise<unknown> | undefined;
  #isEnded = false;
  /** The client lets go of everything, asked by itself or because it has ended. */
  #leaving: Promise<void> | undefined;
  #closed: Promise<void> = Promise.resolve();

  constructor(fd: number, host: AttachmentHost) {
    this.#host = host;
    this.#credentials = peerCredentials(fd);
    this.#pidfd = openPeerPidfd(fd);
    const { set, config, log } = host;
    this.#connection = new Connection(fd, set, config.values['service.blocksMax'], log, this);
    if (this.#pidfd >= 0) set.add(this.#pidfd, { onReady: () => this.#connection.end() });
    this.#bell = new Bell(() => this.#host.onNews());
    this.#silence = setTimeout(() => this.#connection.end(), SILENT_MS_MAX).unref();
  }

  /** Attached, or about to be: those that attach at the same time count too. */
  get isAttached(): boolean {
    return this.#place !== undefined;
  }

  async answer(message: Message, descriptors: readonly number[]): Promise<Answer> {
    if (this.#leaving !== undefined) {
      throw new TcpxError('ERR_WIRE_FRAME', `socket: message ${message.kind} after CLOSE`);
    }
    if (this.#client !== undefined) {
      if (message.kind === MESSAGE_KINDS.CLOSE) return this.#letGo();
      const payload = await this.#client.answer(message, descriptors);
      this.#host.onNews();
      return { payload };
    }
    if (message.kind !== MESSAGE_KINDS.ATTACH) {
      throw new TcpxError('ERR_WIRE_FRAME', `socket: message ${message.kind} before ATTACH`);
    }
    clearTimeout(this.#silence);
    const attaching = this.#attach(decodeAttach(message.payload));
    this.#attaching = attaching.catch(() => undefined);
    return attaching;
  }

  // Answered when nothing touches the client's memory any more: then its owner may free it.
  async #letGo(): Promise<Answer> {
    await this.#leave();
    return { payload: encodeText('') };
  }

  #leave(): Promise<void> {
    this.#leaving ??= (this.#client?.close() ?? Promise.resolve()).finally(() => this.#vacate());
    return this.#leaving;
  }

  #vacate(): void {
    if (this.#place === undefined) return;
    this.#host.onLeft(this.#place);
    this.#place = undefined;
  }

  /** Attached, and neither ended nor leaving: its mapping is there. */
  get #served(): Client | undefined {
    return this.#isEnded || this.#leaving !== undefined ? undefined : this.#client;
  }

  async #attach(wish: AttachWish): Promise<Answer> {
    if (wish.version !== SERVICE_VERSION) {
      throw new TcpxError(
        'ERR_WIRE_VERSION',
        `attach: the library speaks version ${wish.version}, this service ${SERVICE_VERSION}`,
      );
    }
    this.#checkUser();
    this.#place = this.#host.admit();
    try {
      return await this.#open(wish, this.#place);
    } catch (error) {
      this.#vacate();
      throw error;
    }
  }

  async #open(wish: AttachWish, index: number): Promise<Answer> {
    const { pid } = this.#credentials;
    const copyObstacle = this.#pidfd < 0 ? 'its process cannot be seen' : probe(pid, wish);
    const { config, lookUs, log } = this.#host;
    const { values } = config;
    const engine = await ClientEngine.open({
      name: wish.name,
      settings: wish.settings,
      config,
      process: { pid: Math.max(pid, 1), pidfd: Math.max(this.#pidfd, 0) },
      index,
      log,
      onActivity: () => this.#host.onNews(),
    });
    const shape = {
      requestCount: values['service.requestsMax'],
      peerCount: values['service.peersMax'],
    };
    const mapping = new ClientMapping(shape);
    const client = new Client({
      name: wish.name,
      pid,
      engine,
      mapping,
      copyObstacle,
      values,
      lookUs,
      log,
      onNews: () => this.#host.onNews(),
    });
    if (this.#isEnded) {
      await client.close();
      throw new TcpxError('ERR_USAGE_STATE', 'attach: the client has gone meanwhile');
    }
    this.#client = client;
    log.info('client attached', { client: wish.name, pid, copies: copyObstacle || 'possible' });
    this.#host.onAttached(engine.isForLoopbackAlone);
    const facts = {
      version: SERVICE_VERSION,
      ...shape,
      blocksMax: values['service.blocksMax'],
      canCopy: copyObstacle === '' ? 1 : 0,
      mappingBytes: mapping.layout.bytes,
      commandsAt: mapping.layout.commandsAt,
      eventsAt: mapping.layout.eventsAt,
      requestsAt: mapping.layout.requestsAt,
      peersAt: mapping.layout.peersAt,
    };
    const descriptors = [mapping.fd, this.#bell.clientFd];
    return { payload: encodeAttached(facts, engine.info), descriptors };
  }

  #checkUser(): void {
    const { uid, pid } = this.#credentials;
    const own = process.getuid?.() ?? -1;
    if (uid === own || uid === 0) return;
    throw new TcpxError(
      'ERR_CAP_PERMISSION',
      `attach: process ${pid} is user ${uid}'s, this service is user ${own}'s`,
    );
  }

  turn(): boolean {
    const client = this.#served;
    if (client === undefined) return false;
    try {
      return client.turn();
    } catch (error) {
      const fault = error instanceof TcpxError ? error : undefined;
      // Not the client's fault but ours: it is let go all the same, and the cause is in the log.
      if (fault === undefined) this.#host.log.error('client failed', { reason: String(error) });
      this.#connection.end(fault);
      return true;
    }
  }

  sleep(): boolean {
    return this.#served?.sleep() ?? true;
  }

  wake(): void {
    this.#served?.mapping.wake();
  }

  onEnded(error: TcpxError | undefined): Promise<void> {
    this.#served?.tellEnd(error);
    this.#isEnded = true;
    clearTimeout(this.#silence);
    if (this.#pidfd >= 0) this.#host.set.remove(this.#pidfd);
    this.#closed = this.#release(error);
    this.#host.onEnded(this);
    return this.#closed;
  }

  async #release(error: TcpxError | undefined): Promise<void> {
    const client = this.#client;
    await this.#attaching;
    if (client !== undefined) {
      const { log } = this.#host;
      const facts = { client: client.name, pid: client.pid };
      if (error === undefined) log.info('client gone', facts);
      else log.warn('client let go', { ...facts, code: error.code, reason: error.message });
      await this.#leave();
    }
    this.#bell.close();
    if (this.#pidfd >= 0) closeFd(this.#pidfd);
  }

  /** Resolves when everything that the client held is free. */
  async close(): Promise<void> {
    this.#connection.end();
    await this.#closed;
  }
}

/** Why the client's memory cannot be copied; empty where its probe could be read. */
function probe(pid: number, { probeAddr, probe: expected }: AttachWish): string {
  if (pid === 0) return 'the client is in another PID namespace';
  const seen = readProcess(pid, probeAddr, expected.length);
  if (typeof seen === 'number') return `process_vm_readv of process ${pid}: ${errnoName(-seen)}`;
  return Buffer.from(expected).equals(seen) ? '' : `process ${pid} has another probe in memory`;
}
