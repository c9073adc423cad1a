// A virtual TCP connection: two pipes and a port at each end. An end that closes tells the other
// by FIN or RST; bytes for a closed end are thrown away and answered by RST.

import type { Random } from '../../../src/base/random.js';
import { type StreamPort, WOULD_BLOCK } from '../../../src/provider/tcp/port/stream-port.js';
import { PortVector } from '../port-vector.js';
import { type PipeRules, SimPipe } from './sim-pipe.js';
import type { SimTime } from './sim-time.js';

const ECONNRESET = 104;

export interface IoRules {
  readonly random: Random;
  /** Most bytes per call; what a call takes is anything up to it. */
  readonly callBytesMax: number;
  /** How often a call takes all that it can. */
  readonly wholeChance: number;
  readonly blockChance: number;
  /** Whether a byte of what is sent from there is damaged on its way. */
  isDamaged(addr: number): boolean;
}

export class SimPort implements StreamPort {
  readonly fd: number;
  readonly isByReference = false;
  readonly connection: SimConnection;
  readonly out: SimPipe;
  readonly into: SimPipe;
  readonly #io: IoRules;
  readonly #sends = new PortVector();
  readonly #receives = new PortVector();
  isClosed = false;
  #confirmed = 0;

  constructor(connection: SimConnection, fd: number, pipes: [SimPipe, SimPipe], io: IoRules) {
    this.connection = connection;
    this.fd = fd;
    [this.out, this.into] = pipes;
    this.#io = io;
  }

  setSend(index: number, addr: number, bytes: number): void {
    this.#sends.set(index, addr, bytes);
  }

  /** Frames without checks, of handshakes and plans, come as they were sent. */
  send(first: number, count: number, isChecked = true): number {
    if (this.into.isReset) return -ECONNRESET;
    const wanted = this.#sends.total(first, count);
    const bytes = this.#allowance(Math.min(wanted, this.out.roomBytes));
    if (bytes <= 0) return WOULD_BLOCK;
    this.#sends.each(first, bytes, (addr, part) => {
      this.out.push(addr, part);
      if (isChecked && this.#io.isDamaged(addr)) {
        const { random } = this.#io;
        this.out.damage(random.nextBetween(1, part), random.nextBetween(0, 7));
      }
    });
    this.out.flush();
    this.connection.onSent(this);
    return bytes;
  }

  advanceSend(first: number, bytes: number): number {
    return this.#sends.advance(first, bytes);
  }

  setReceive(index: number, addr: number, bytes: number): void {
    this.#receives.set(index, addr, bytes);
  }

  receive(count: number): number {
    const there = this.into.isLost ? 0 : this.into.arrived - this.into.received;
    if (there === 0 && this.into.isReset) return -ECONNRESET;
    if (there === 0) return this.into.hasEnded ? 0 : WOULD_BLOCK;
    const bytes = this.#allowance(Math.min(this.#receives.total(0, count), there));
    if (bytes === 0) return WOULD_BLOCK;
    this.#receives.each(0, bytes, (addr, part) => this.into.pull(addr, part));
    return bytes;
  }

  #allowance(possible: number): number {
    const { random, callBytesMax, wholeChance, blockChance } = this.#io;
    if (possible === 0 || random.nextChance(blockChance)) return 0;
    if (random.nextChance(wholeChance)) return possible;
    return Math.min(possible, random.nextBetween(1, callBytesMax));
  }

  /** What the other kernel has not confirmed; a confirmation needs the way back. */
  queuedBytes(): number {
    if (!this.into.isFrozen) this.#confirmed = this.out.arrived;
    return this.out.sent - this.#confirmed;
  }

  /** A kernel whose bytes or whose answers do not come through has sent in vain. */
  isPathSilent(): boolean {
    return this.queuedBytes() > 0 && (this.out.isFrozen || this.into.isFrozen);
  }

  /** This end's kernel has given up: the other end is told only when it asks. */
  vanish(): void {
    this.isClosed = true;
  }

  close(isAborted: boolean): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.connection.onClosed(this, isAborted);
  }
}

export class SimConnection {
  readonly a: SimPort;
  readonly b: SimPort;
  /** It is, or was, the control connection of a session. */
  isControl = false;
  /** A lane has, or had, one of its ends. */
  isData = false;
  /** Somebody on the way has changed what was said on it. */
  isChanged = false;
  /** Bytes per second that it lets go, where it carries no data. */
  rate = Number.POSITIVE_INFINITY;
  readonly #time: SimTime;
  readonly #random: Random;

  /** `rates`: what the machines at its ends let go of data, bytes per second. */
  constructor(
    time: SimTime,
    rules: Omit<PipeRules, 'rate'>,
    rates: { readonly a: () => number; readonly b: () => number },
    io: IoRules,
    firstFd: number,
  ) {
    this.#time = time;
    this.#random = io.random;
    const { a, b } = rates;
    const rateOf = (rate: () => number) => () => (this.isData ? rate() : this.rate);
    const toB = new SimPipe(time, { ...rules, rate: rateOf(a) });
    const toA = new SimPipe(time, { ...rules, rate: rateOf(b) });
    this.a = new SimPort(this, firstFd, [toB, toA], io);
    this.b = new SimPort(this, firstFd + 1, [toA, toB], io);
  }

  other(port: SimPort): SimPort {
    return port === this.a ? this.b : this.a;
  }

  onSent(port: SimPort): void {
    if (this.other(port).isClosed) this.#answerByReset(port);
  }

  // Bytes reach a closed end: its reset comes back, if the path carries it.
  #answerByReset(port: SimPort): void {
    this.travel(port, () => this.travel(this.other(port), () => this.#reset(port.into)));
  }

  onClosed(port: SimPort, isAborted: boolean): void {
    const hasUnread = port.into.sent > port.into.received;
    if (isAborted) port.out.dropTail(this.#random.nextBetween(0, port.out.packets));
    if (isAborted || hasUnread) this.travel(port, () => this.#reset(port.out));
    else port.out.isEnded = true;
  }

  // What came before a reset can still be read, or not, as the kernel likes.
  #reset(pipe: SimPipe): void {
    pipe.isReset = true;
    if (this.#random.nextChance(0.5)) pipe.isLost = true;
  }

  /** Both ends are told that the connection is gone. */
  resetBoth(): void {
    this.travel(this.a, () => this.#reset(this.a.out));
    this.travel(this.b, () => this.#reset(this.b.out));
  }

  /** Somebody on the way ends the connection in good order: both ends see the end of the stream. */
  endBoth(): void {
    this.a.out.isEnded = true;
    this.b.out.isEnded = true;
  }

  /** Something that is no data goes from this end to the other, behind what was sent before. */
  travel(from: SimPort, act: () => void): void {
    const pipe = from.out;
    const arrive = (): void => {
      if (!pipe.isFrozen) act();
      else if (pipe.openUs < Number.POSITIVE_INFINITY) {
        this.#time.at(pipe.openUs + this.#random.nextBetween(0, 3000), arrive);
      }
    };
    this.#time.at(pipe.arrivalUs(), arrive);
  }

  /** Nothing passes any more, and nobody is told. */
  cutSilently(): void {
    this.a.out.frozenUs = Number.POSITIVE_INFINITY;
    this.b.out.frozenUs = Number.POSITIVE_INFINITY;
  }

  get nextUs(): number {
    const aUs = this.b.isClosed ? Number.POSITIVE_INFINITY : this.a.out.nextUs;
    const bUs = this.a.isClosed ? Number.POSITIVE_INFINITY : this.b.out.nextUs;
    return Math.min(aUs, bUs);
  }

  get isOver(): boolean {
    return this.a.isClosed && this.b.isClosed;
  }

  destroy(): void {
    this.a.out.destroy();
    this.b.out.destroy();
  }
}
