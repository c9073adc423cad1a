// Setting up the channels of a session, again and again: each set-up is an epoch. The client opens
// its channels and sends their handles; the server answers with its own; both connect to the
// other's and accept on their own; each says when it has joined.
//
//   client                              server
//   open, hello(epoch, handles) ──────▶ open, listen for the control stream
//   join ◀───── hello(handles, stream)  join
//   stream: proof ════════════════════▶
//          ◀═══════════════════ proof
//   joined ───────────────────────────▶
//          ◀─────────────────── joined
//
// A failure takes the whole epoch down on both ends; `fenced` says that none of its bytes land.

import { withinMs } from '../../base/clock.js';
import { TcpxError, toTcpxError } from '../../base/errors.js';
import type { Log } from '../../base/log.js';
import type { SettingValues } from '../../base/settings.js';
import { channelNics } from '../../provider/tcpx/rail-plan.js';
import type { RailSet } from '../../provider/tcpx/rail-set.js';
import { ChannelSet } from './channel-set.js';
import type { ControlLink } from './control-link.js';
import {
  type Hello,
  PROTOCOL,
  type PluginIdentity,
  type StreamOffer,
  type TransferMessage,
} from './control-message.js';
import { SessionStream } from './session-stream.js';

/** down → opening → joining → ready → down …; closed for good. */
export type ChannelsState = 'down' | 'opening' | 'joining' | 'ready' | 'closed';

export interface SessionChannelsParts {
  readonly role: 'client' | 'server';
  readonly link: ControlLink;
  readonly rails: RailSet;
  readonly values: SettingValues;
  readonly log: Log;
  /** Over the control stream. */
  onMessage(message: TransferMessage): void;
  onPart(flight: number, channel: number, durationUs: number): void;
  /**
   * The epoch is over. `fenced` resolves when nothing of it lands at this end any more, and with
   * what the peer said when it confirmed the same for its end; undefined without confirmation.
   */
  onDown(error: TcpxError, fenced: Promise<string | undefined>): void;
}

interface Pending {
  readonly promise: Promise<void>;
  resolve(): void;
  reject(error: TcpxError): void;
}

const FENCE_MS = 2000;

export class SessionChannels {
  readonly #parts: SessionChannelsParts;
  #state: ChannelsState = 'down';
  #epoch = 0;
  #set: ChannelSet | undefined;
  /** The channels of the epoch that went down last. */
  #downSet: ChannelSet | undefined;
  #downReason = '';
  #ready: Pending | undefined;
  #isJoined = false;
  #isPeerJoined = false;
  #peer: Hello | undefined;
  #teardown: Promise<unknown> = Promise.resolve();
  #onFenced: (detail: string) => void = () => undefined;
  readonly #stream: SessionStream;

  constructor(parts: SessionChannelsParts) {
    this.#parts = parts;
    this.#stream = new SessionStream({
      link: parts.link,
      log: parts.log,
      isWanted: parts.values['tcpx.control'] === 'stream',
      setupTimeoutMs: parts.values['tcpx.setupTimeoutMs'],
      onMessage: (message) => parts.onMessage(message),
      onLost: (epoch, error) => {
        if (epoch === this.#epoch) this.takeDown(error);
      },
    });
  }

  get epoch(): number {
    return this.#epoch;
  }

  get state(): ChannelsState {
    return this.#state;
  }

  /** Only while ready. */
  get set(): ChannelSet {
    if (this.#set !== undefined) return this.#set;
    throw new TcpxError('ERR_USAGE_STATE', `${this.#parts.link.peer}: channels are ${this.#state}`);
  }

  /** Why own processes of the epoch that went down last are gone; empty when all lived. */
  get lastDeaths(): string {
    return this.#downSet?.describeDeaths() ?? '';
  }

  get peerPlugin(): PluginIdentity | undefined {
    return this.#peer?.plugin;
  }

  get unpackedBy(): string {
    return this.#parts.rails.facts.unpackedBy;
  }

  /** How messages of transfers go in this epoch. */
  get controlPath(): 'stream' | 'session' {
    return this.#stream.isUsed ? 'stream' : 'session';
  }

  get ownPlugin(): PluginIdentity {
    const { facts, pluginVersion } = this.#parts.rails;
    const { name, tableVersion, isEmulated, pointerType, emulatorVersion } = facts;
    const version = pluginVersion || emulatorVersion || 'unknown';
    return { name, version, tableVersion, isEmulated, pointerType };
  }

  /** Resolves when chunks may be put; sets the channels up where they are down. */
  async ready(): Promise<void> {
    await this.#teardown;
    if (this.#state === 'ready') return;
    if (this.#state === 'closed') throw closedError(this.#parts.link.peer);
    if (this.#ready === undefined) {
      this.#ready = pending();
      if (this.#parts.role === 'client') void this.#setUpAsClient();
      else this.#parts.link.send({ kind: 'again', epoch: this.#epoch });
      this.#limitSetUp(this.#ready);
    }
    await this.#ready.promise;
  }

  onAgain(): void {
    if (this.#state === 'down') void this.ready().catch(() => undefined);
  }

  async onHello(hello: Hello): Promise<void> {
    if (this.#parts.role === 'client') {
      if (hello.epoch !== this.#epoch || this.#state !== 'joining') return;
      await this.#join(hello);
      return;
    }
    if (hello.epoch <= this.#epoch) return;
    if (this.#state !== 'down') this.takeDown(newEpochError(this.#parts.link.peer), false);
    await this.#teardown;
    this.#epoch = hello.epoch;
    this.#ready ??= pending();
    await this.#setUp(async () => {
      await this.#open();
      this.#sendHello(await this.#stream.offer(hello.epoch));
      await this.#join(hello);
    });
  }

  onJoined(epoch: number, isStreamed: boolean): void {
    if (epoch !== this.#epoch || this.#state !== 'joining') return;
    if (this.#parts.role === 'server' && !isStreamed) this.#stream.close();
    if (isStreamed && !this.#stream.choose()) {
      this.takeDown(new TcpxError('ERR_WIRE_STATE', 'joined with a control stream that is not'));
      return;
    }
    this.#isPeerJoined = true;
    this.#checkReady();
  }

  /** The peer took the epoch down; `fenced` goes back once nothing lands here any more. */
  onDown(epoch: number, code: string, reason: string): void {
    const { link } = this.#parts;
    if (epoch !== this.#epoch || this.#state === 'closed') return;
    const set = this.#set ?? this.#downSet;
    const stall = this.#set?.describeAll() ?? this.#downReason;
    const error = new TcpxError(
      'ERR_XFER_FAILED',
      `${link.peer} took the channels down: ${code}: ${reason}`,
      { facts: { peer: link.peer, peerCode: code } },
    );
    this.takeDown(error, false);
    void this.#teardown.then(() => {
      // A peer that saw our sockets close is told why.
      const detail = [set?.describeDeaths() ?? '', stall].filter((text) => text !== '').join('; ');
      if (link.isOpen) link.send({ kind: 'fenced', epoch, detail });
    });
  }

  onFenced(epoch: number, detail: string): void {
    if (epoch === this.#epoch) this.#onFenced(detail);
  }

  /** Ends the epoch for a reason; `isTold` also tells the peer and waits for its fence. */
  takeDown(error: TcpxError, isTold = true): void {
    if (this.#state === 'down' || this.#state === 'closed') return;
    const { link, values } = this.#parts;
    const set = this.#set;
    this.#state = 'down';
    this.#set = undefined;
    this.#downSet = set;
    // Where both ends take it down at once, each still hears why the other did.
    this.#downReason = isTold ? error.message : '';
    this.#stream.close();
    const fence = isTold && link.isOpen ? this.#askFence(error) : Promise.resolve(undefined);
    this.#teardown = Promise.resolve(set?.close(values['tcpx.hangMs'])).catch(() => undefined);
    const fenced = this.#teardown.then(() => fence);
    this.#settleReady(error);
    this.#parts.onDown(error, fenced);
  }

  /** For good; what is in flight fails with the reason. */
  async close(reason?: TcpxError): Promise<void> {
    const error = reason ?? closedError(this.#parts.link.peer);
    this.takeDown(error, false);
    this.#settleReady(error);
    this.#state = 'closed';
    await this.#teardown;
  }

  async #askFence(error: TcpxError): Promise<string | undefined> {
    const confirmed = new Promise<string>((resolve) => {
      this.#onFenced = resolve;
    });
    const { link } = this.#parts;
    try {
      link.send({ kind: 'down', epoch: this.#epoch, code: error.code, reason: error.message });
    } catch {
      // A peer that takes no messages confirms nothing either.
      return undefined;
    }
    return await withinMs(confirmed, FENCE_MS);
  }

  async #setUpAsClient(): Promise<void> {
    this.#epoch++;
    await this.#setUp(async () => {
      await this.#open();
      this.#sendHello();
    });
  }

  async #setUp(steps: () => Promise<void>): Promise<void> {
    this.#state = 'opening';
    this.#isJoined = false;
    this.#isPeerJoined = false;
    const epoch = this.#epoch;
    try {
      await steps();
    } catch (error) {
      // Given up meanwhile: the next epoch is not concerned.
      if (epoch !== this.#epoch) return;
      this.takeDown(toTcpxError(error, 'ERR_NCCLNET_CALL', 'set up channels'));
    }
  }

  async #open(): Promise<void> {
    const { rails, values } = this.#parts;
    const nics = channelNics(rails.nics, values['flow.channels']);
    const epoch = this.#epoch;
    const set = await ChannelSet.open(rails, nics, {
      onPart: (flight, channel, us) => {
        if (epoch === this.#epoch) this.#parts.onPart(flight, channel, us);
      },
      onBroken: (error) => {
        if (epoch === this.#epoch) this.takeDown(error);
      },
    });
    if (this.#state !== 'opening' || epoch !== this.#epoch) {
      await set.close(values['tcpx.hangMs']);
      throw new TcpxError('ERR_PEER_LOST', 'the set-up was given up meanwhile');
    }
    this.#set = set;
    this.#state = 'joining';
  }

  #sendHello(stream?: StreamOffer): void {
    const { link, values, rails } = this.#parts;
    link.send({
      kind: 'hello',
      protocol: PROTOCOL,
      epoch: this.#epoch,
      plugin: this.ownPlugin,
      chunkBytes: values['flow.chunkBytes'],
      isHostRecv: values['tcpx.hostRecv'],
      nics: rails.nics,
      handles: this.set.handles,
      ...(stream === undefined ? {} : { stream }),
    });
  }

  async #join(hello: Hello): Promise<void> {
    const epoch = this.#epoch;
    let isStreamed = false;
    try {
      this.#checkAgreement(hello);
      this.#peer = hello;
      const isClient = this.#parts.role === 'client';
      [isStreamed] = await Promise.all([
        isClient && this.#stream.dial(epoch, hello.stream),
        this.set.join(hello.handles),
      ]);
    } catch (error) {
      if (epoch !== this.#epoch) return;
      this.takeDown(toTcpxError(error, 'ERR_NCCLNET_CALL', 'join channels'));
      return;
    }
    if (this.#state !== 'joining' || epoch !== this.#epoch) return;
    this.#isJoined = true;
    this.#parts.link.send({ kind: 'joined', epoch, isStreamed });
    this.#checkReady();
  }

  #checkAgreement(hello: Hello): void {
    const { link, values, log } = this.#parts;
    const own = this.ownPlugin;
    const differences = [
      differs('protocol', PROTOCOL, hello.protocol),
      differs('flow.chunkBytes', values['flow.chunkBytes'], hello.chunkBytes),
      differs('channels', this.set.count, hello.handles.length),
      differs('tcpx.hostRecv', values['tcpx.hostRecv'], hello.isHostRecv),
    ].filter((text) => text !== '');
    if (own.version !== hello.plugin.version) {
      log.warn('plugin versions differ', { own: own.version, peer: hello.plugin.version });
    }
    if (differences.length === 0) return;
    throw new TcpxError('ERR_PEER_REFUSED', `${link.peer} differs in ${differences.join(', ')}`);
  }

  #checkReady(): void {
    if (!this.#isJoined || !this.#isPeerJoined) return;
    this.#state = 'ready';
    const ready = this.#ready;
    this.#ready = undefined;
    ready?.resolve();
  }

  #settleReady(error: TcpxError): void {
    const ready = this.#ready;
    this.#ready = undefined;
    ready?.reject(error);
  }

  #limitSetUp(ready: Pending): void {
    const limitMs = this.#parts.values['tcpx.setupTimeoutMs'];
    const timer = setTimeout(() => {
      if (this.#ready !== ready) return;
      const message = `${this.#parts.link.peer}: channels not joined in ${limitMs} ms`;
      const error = new TcpxError('ERR_PEER_TIMEOUT', message);
      this.takeDown(error);
      this.#settleReady(error);
    }, limitMs);
    const clear = (): void => clearTimeout(timer);
    ready.promise.then(clear, clear);
  }
}

function pending(): Pending {
  let resolve: () => void = () => undefined;
  let reject: (error: TcpxError) => void = () => undefined;
  const promise = new Promise<void>((onGood, onBad) => {
    resolve = onGood;
    reject = onBad;
  });
  promise.catch(() => undefined);
  return { promise, resolve: () => resolve(), reject: (error) => reject(error) };
}

function differs(name: string, own: unknown, theirs: unknown): string {
  return own === theirs ? '' : `${name} (${String(own)} here, ${String(theirs)} there)`;
}

function closedError(peer: string): TcpxError {
  return new TcpxError('ERR_USAGE_STATE', `${peer}: session closed`);
}

function newEpochError(peer: string): TcpxError {
  return new TcpxError('ERR_PEER_LOST', `${peer} sets its channels up again`);
}

/**
 * The error of an epoch's end with what both ends know: the peer may have seen our sockets close
 * before we knew of the end of our own process. `detail` is undefined where it did not confirm.
 */
export function describeDown(
  error: TcpxError,
  ownDeaths: string,
  detail: string | undefined,
): TcpxError {
  const isNews = ownDeaths !== '' && !error.message.includes(ownDeaths);
  const here = isNews ? `; here: ${ownDeaths}` : '';
  const there = detail === undefined || detail === '' ? '' : `; at the peer: ${detail}`;
  const facts = { ...error.facts, isFenced: detail !== undefined };
  return new TcpxError(error.code, `${error.message}${here}${there}`, { facts, cause: error });
}
