// Setting up the plugin's channels of a session, again and again: each set-up is an epoch with a
// match connection of its own. Both ends open their channels and send their handles; both connect
// to the other's and accept on their own; each says when it has joined.
//
//   client                                   server
//   open, ATTACH(epoch) ───────────────────▶ whatever was before is down; ATTACHED
//   HELLO(handles) ────────────────────────▶ open
//   join ◀───────────────────────── HELLO(handles), join
//   JOINED ────────────────────────────────▶
//          ◀──────────────────────── JOINED
//
// A failure takes the whole epoch down on both ends (DOWN). Each says FENCED when none of its bytes
// land there any more, and waits for the other to say so, or to set up a later epoch.

import { assert } from '../../base/assert.js';
import { TcpxError, toTcpxError } from '../../base/errors.js';
import type { Epoch } from '../../base/quantity.js';
import { decodeReason, encodeMatch, type MatchFrame, MatchKind } from '../../wire/match-frame.js';
import {
  decodeMatchHello,
  encodeMatchHello,
  type MatchHello,
  type PluginIdentity,
} from '../../wire/match-hello.js';
import type { ChannelSet } from './channel-set.js';
import { describeDown, differs, type Pending, pending, withNews } from './epoch-end.js';
import { EpochFences, type PeerFence } from './epoch-fence.js';
import type { EpochsParts } from './epochs-parts.js';
import type { MatchConnection, OpenMatch } from './match-connection.js';

/** down → opening → joining → ready → down …; closed for good. */
export type EpochState = 'down' | 'opening' | 'joining' | 'ready' | 'closed';

/** When the peer closes, the session says why, a little later. */
const END_MS = 1000;

/** Of an end: this one tells the peer, the peer has told it, or the session is over. */
type DownBy = 'this end' | 'peer' | 'session';

export class Epochs {
  readonly #parts: EpochsParts;
  readonly #fences: EpochFences;
  #state: EpochState = 'down';
  #epoch = 0;
  /** The last one that went down: what a peer is asked to follow. */
  #downEpoch = 0;
  #set: ChannelSet | undefined;
  #stream: MatchConnection | undefined;
  #ready: Pending | undefined;
  #hello: MatchHello | undefined;
  #isJoining = false;
  #isJoined = false;
  #isPeerJoined = false;
  #hasBeenReady = false;
  #teardown: Promise<unknown> = Promise.resolve();

  constructor(parts: EpochsParts) {
    this.#parts = parts;
    this.#fences = new EpochFences((delayMs, act) => parts.after(delayMs, act));
  }

  get state(): EpochState {
    return this.#state;
  }

  /**
   * Throws where nothing can end while the event loop stands still: channels are set up and taken
   * down by it, and whoever blocks its thread keeps it from running.
   */
  assertSettling(): void {
    const isOpen = this.#stream?.isOpen === true;
    if (this.#state === 'ready' && isOpen) return;
    const obstacle =
      this.#state === 'ready'
        ? 'the match connection is lost'
        : `the plugin’s channels are ${this.#state}`;
    throw new TcpxError(
      'ERR_USAGE_STATE',
      `wait: ${this.#parts.peer}: ${obstacle}, and the event loop has to run for that: ` +
        'await done instead',
    );
  }

  /** Counts set-ups. */
  get epoch(): number {
    return this.#epoch;
  }

  get hasBeenReady(): boolean {
    return this.#hasBeenReady;
  }

  /** Only while there is one. */
  get set(): ChannelSet {
    if (this.#set !== undefined) return this.#set;
    throw new TcpxError('ERR_USAGE_STATE', `${this.#parts.peer}: channels are ${this.#state}`);
  }

  get peerPlugin(): PluginIdentity | undefined {
    return this.#hello?.plugin;
  }

  /** Reads what has come, without waiting. */
  poll(): void {
    this.#stream?.poll();
  }

  send(frame: Uint8Array): void {
    this.#stream?.send(frame);
  }

  /** Resolves when chunks may be put; sets the channels up where they are down. */
  async ready(): Promise<void> {
    await this.#teardown;
    if (this.#state === 'ready') return;
    if (this.#state === 'closed') throw closedError(this.#parts.peer);
    if (this.#ready === undefined) {
      this.#ready = pending();
      this.#limitSetUp(this.#ready);
      if (this.#parts.connect === undefined) this.#parts.askAgain(this.#downEpoch);
      else void this.#setUpAsClient(this.#parts.connect);
    }
    await this.#ready.promise;
  }

  /** The client: its peer wants a later epoch than this one, which is down there. */
  onAgain(epoch: Epoch): void {
    if (epoch > 0 && epoch === this.#epoch) {
      const error = new TcpxError('ERR_PEER_LOST', `${this.#parts.peer} has lost its channels`);
      this.takeDown(error, 'peer');
    }
    if (this.#state === 'down') void this.ready().catch(() => undefined);
  }

  /** Server, before it answers ATTACH: whatever was before lands no more. */
  async makeRoom(epoch: Epoch): Promise<void> {
    const { peer, connect } = this.#parts;
    if (connect !== undefined || epoch <= this.#epoch || this.#state === 'closed') {
      throw new TcpxError('ERR_WIRE_STATE', `${peer}: match epoch ${epoch} is not due`);
    }
    const error = new TcpxError('ERR_PEER_LOST', `${peer} sets its channels up again`);
    this.takeDown(error, 'peer');
    this.#epoch = epoch;
    this.#fences.onLaterEpoch();
    await this.#teardown;
    if (this.#epoch !== epoch) throw superseded(peer);
  }

  /** Server: the connection for which there is room now. */
  accept(epoch: Epoch, open: OpenMatch): void {
    if (epoch !== this.#epoch || this.#state !== 'down') throw superseded(this.#parts.peer);
    this.#ready ??= pending();
    this.#begin();
    this.#stream = this.#openStream(epoch, open);
    void this.#setUp(epoch, async () => {
      await this.#open(epoch);
      this.#sendHello();
      this.#joinWhenBoth();
    });
  }

  /** Ends the epoch for a reason. */
  takeDown(error: TcpxError, by: DownBy = 'this end'): void {
    if (this.#state === 'down' || this.#state === 'closed') return;
    const set = this.#set;
    const stream = this.#stream;
    this.#state = 'down';
    this.#downEpoch = this.#epoch;
    this.#set = undefined;
    this.#stream = undefined;
    const fence = this.#fences.begin(stream);
    const canSay = by === 'peer' || (by === 'this end' && this.#fences.tellDown(stream, error));
    // Where both ends take it down at once, each still hears why the other did.
    const known = by === 'this end' ? error.message : (set?.describeAll() ?? '');
    const hangMs = this.#parts.values['tcpx.hangMs'];
    let isExposed = false;
    this.#teardown = Promise.resolve(set?.close(hangMs)).catch(() => undefined);
    const fenced = this.#teardown.then(async () => {
      const deaths = set?.describeDeaths() ?? '';
      // A peer that saw our sockets close is told why.
      if (stream !== undefined) this.#fences.say(stream, withNews(known, deaths));
      const heard = await fence.hear(canSay && stream?.isOpen === true);
      if (by === 'this end') this.#logDown(describeDown(error, deaths, heard));
      const isSought = heard === undefined && isExposed && by !== 'session';
      return describeDown(error, deaths, isSought ? await this.#seek(fence) : heard);
    });
    if (stream !== undefined) this.#fences.closeLater(stream);
    this.#settleReady(error);
    isExposed = this.#parts.onDown(fenced);
  }

  // Who sets up a later epoch has taken the one before down.
  #seek(fence: PeerFence): Promise<string | undefined> {
    const { values, connect } = this.#parts;
    return fence.seek(values['session.reconnectMs'] + values['tcpx.hangMs'], () => {
      if (connect === undefined && this.#state === 'down') this.#parts.askAgain(this.#downEpoch);
      else if (connect !== undefined) this.onAgain(0);
    });
  }

  #logDown({ code, message }: TcpxError): void {
    const { peer, log } = this.#parts;
    log.warn('channels were taken down', { peer, code, reason: message });
  }

  /** For good; what is in flight fails with the reason. */
  async close(reason?: TcpxError): Promise<void> {
    const error = reason ?? closedError(this.#parts.peer);
    this.takeDown(error, 'session');
    this.#settleReady(error);
    this.#state = 'closed';
    await this.#teardown;
    this.#fences.closeAll();
  }

  async #setUpAsClient(connect: (epoch: Epoch) => Promise<OpenMatch>): Promise<void> {
    const epoch = ++this.#epoch;
    this.#begin();
    await this.#setUp(epoch, async () => {
      await this.#open(epoch);
      const open = await connect(epoch);
      if (epoch === this.#epoch) this.#fences.onLaterEpoch();
      const stream = this.#openStream(epoch, open);
      if (epoch !== this.#epoch || this.#state !== 'joining') {
        stream.close();
        throw superseded(this.#parts.peer);
      }
      this.#stream = stream;
      this.#sendHello();
    });
  }

  #begin(): void {
    assert(this.#state === 'down', 'an epoch begins when the one before is down');
    this.#state = 'opening';
    this.#hello = undefined;
    this.#isJoining = false;
    this.#isJoined = false;
    this.#isPeerJoined = false;
  }

  async #setUp(epoch: Epoch, steps: () => Promise<void>): Promise<void> {
    try {
      await steps();
    } catch (error) {
      // Given up meanwhile: the next epoch is not concerned.
      if (epoch !== this.#epoch) return;
      this.takeDown(toTcpxError(error, 'ERR_NCCLNET_CALL', 'set up channels'));
    }
  }

  async #open(epoch: Epoch): Promise<void> {
    const set = await this.#parts.openSet(epoch);
    if (this.#state !== 'opening' || epoch !== this.#epoch) {
      await set.close(this.#parts.values['tcpx.hangMs']);
      throw superseded(this.#parts.peer);
    }
    this.#set = set;
    this.#state = 'joining';
  }

  #openStream(epoch: Epoch, open: OpenMatch): MatchConnection {
    const stream: MatchConnection = open({
      onFrame: (frame) => this.#onFrame(epoch, stream, frame),
      onEnd: (error) => this.#onEnd(epoch, stream, error),
    });
    return stream;
  }

  #sendHello(): void {
    const { values } = this.#parts;
    const body = encodeMatchHello({
      plugin: this.#parts.ownPlugin(),
      chunkBytes: values['flow.chunkBytes'],
      isHostRecv: values['tcpx.hostRecv'],
      nics: this.#parts.nics(),
      handles: this.set.handles,
    });
    this.send(encodeMatch({ kind: MatchKind.Hello }, body));
  }

  #onFrame(epoch: Epoch, stream: MatchConnection, frame: MatchFrame): void {
    if (frame.kind === MatchKind.Fenced) {
      this.#fences.onFenced(stream, decodeReason(frame.body).reason);
    } else if (epoch !== this.#epoch || stream !== this.#stream) {
      // What belongs to an epoch that is over was answered by its end.
    } else if (frame.kind === MatchKind.Down) {
      this.#onPeerDown(frame);
    } else if (frame.kind === MatchKind.Hello) {
      if (this.#hello !== undefined) throw new TcpxError('ERR_WIRE_STATE', 'a second HELLO');
      this.#hello = decodeMatchHello(frame.body);
      this.#joinWhenBoth();
    } else if (this.#hello === undefined) {
      throw new TcpxError('ERR_WIRE_STATE', `match frame ${frame.kind} before HELLO`);
    } else if (frame.kind === MatchKind.Joined) {
      this.#isPeerJoined = true;
      this.#checkReady();
    } else if (this.#state === 'joining' || this.#state === 'ready') {
      // The peer may be ready a moment before us: its first announcement is not early.
      this.#parts.onFrame(frame);
    } else {
      throw new TcpxError('ERR_WIRE_STATE', 'a transfer before the channels are joined');
    }
  }

  #joinWhenBoth(): void {
    if (this.#set === undefined || this.#hello === undefined || this.#isJoining) return;
    this.#isJoining = true;
    void this.#join(this.#epoch, this.#set, this.#hello);
  }

  async #join(epoch: Epoch, set: ChannelSet, hello: MatchHello): Promise<void> {
    await this.#setUp(epoch, async () => {
      this.#checkAgreement(set, hello);
      await set.join(hello.handles);
      if (this.#state !== 'joining' || epoch !== this.#epoch) return;
      this.#isJoined = true;
      this.send(encodeMatch({ kind: MatchKind.Joined }));
      this.#checkReady();
    });
  }

  #checkAgreement(set: ChannelSet, hello: MatchHello): void {
    const { peer, values, log } = this.#parts;
    const own = this.#parts.ownPlugin();
    const differences = [
      differs('flow.chunkBytes', values['flow.chunkBytes'], hello.chunkBytes),
      differs('channels', set.count, hello.handles.length),
      differs('tcpx.hostRecv', values['tcpx.hostRecv'], hello.isHostRecv),
    ].filter((text) => text !== '');
    if (own.version !== hello.plugin.version) {
      log.warn('plugin versions differ', { own: own.version, peer: hello.plugin.version });
    }
    if (differences.length === 0) return;
    throw new TcpxError('ERR_PEER_REFUSED', `${peer} differs in ${differences.join(', ')}`);
  }

  #checkReady(): void {
    if (!this.#isJoined || !this.#isPeerJoined || this.#state !== 'joining') return;
    this.#state = 'ready';
    this.#hasBeenReady = true;
    const ready = this.#ready;
    this.#ready = undefined;
    ready?.resolve();
  }

  #onPeerDown(frame: MatchFrame): void {
    const { peer } = this.#parts;
    const { code, reason } = decodeReason(frame.body);
    const error = new TcpxError(
      'ERR_XFER_FAILED',
      `${peer} took the channels down: ${code}: ${reason}`,
      { facts: { peer, peerCode: code } },
    );
    this.takeDown(error, 'peer');
  }

  #onEnd(epoch: Epoch, stream: MatchConnection, error: TcpxError): void {
    if (epoch !== this.#epoch || stream !== this.#stream) return;
    const { peer, log } = this.#parts;
    const { code, message } = error;
    const told = new TcpxError(code, `${peer}: match connection: ${message}`, { cause: error });
    log.warn('match connection lost', { peer, code, reason: message });
    if (code !== 'ERR_PEER_LOST') {
      this.takeDown(told);
      this.#parts.onViolation(told);
      return;
    }
    this.#parts.after(END_MS, () => {
      if (epoch === this.#epoch && stream === this.#stream) this.takeDown(told);
    });
  }

  #settleReady(error: TcpxError): void {
    const ready = this.#ready;
    this.#ready = undefined;
    ready?.reject(error);
  }

  #limitSetUp(ready: Pending): void {
    const limitMs = this.#parts.values['tcpx.setupTimeoutMs'];
    const cancel = this.#parts.after(limitMs, () => {
      if (this.#ready !== ready) return;
      const message = `${this.#parts.peer}: channels not joined in ${limitMs} ms`;
      const error = new TcpxError('ERR_PEER_TIMEOUT', message);
      this.takeDown(error);
      this.#settleReady(error);
    });
    ready.promise.then(cancel, cancel);
  }
}

function closedError(peer: string): TcpxError {
  return new TcpxError('ERR_USAGE_STATE', `${peer}: session closed`);
}

function superseded(peer: string): TcpxError {
  return new TcpxError('ERR_PEER_LOST', `${peer}: the set-up was given up meanwhile`);
}
