// One direction of a plugin channel: messages go in order, the k-th send meets the k-th receive.
// Each end has a pool of requests; what arrives waits until its receive is posted. Events are
// tokens: each moves the head of its queue, so that nothing overtakes.

import { TcpxError } from '../../../src/base/errors.js';
import { RECEIVE, SEND } from '../../../src/provider/tcpx/host-layout.js';
import type { ChunkOrder, SimChannel } from './sim-channel.js';
import type { SimFabric } from './sim-fabric.js';
import { Violation } from './violation.js';

/** Requests of a comm; a send comm keeps to fewer. */
const RECEIVE_POOL = 16;
const SEND_POOL = 12;

interface Message {
  readonly order: ChunkOrder;
  readonly bytes: Uint8Array;
}

interface Matched {
  readonly message: Message;
  readonly receive: ChunkOrder;
  /** Bytes that lie at their place: fragments come one after the other. */
  placed: number;
}

export class SimComm {
  readonly from: SimChannel;
  readonly to: SimChannel;
  readonly #fabric: SimFabric;
  /** Not yet posted, posted, on their way, come, being unpacked. */
  readonly #queue: ChunkOrder[] = [];
  readonly #posted: ChunkOrder[] = [];
  readonly #wire: Message[] = [];
  readonly #arrived: Message[] = [];
  readonly #receives: ChunkOrder[] = [];
  readonly #unpacking: Matched[] = [];
  #arrivalUs = 0;
  /** A socket of it is dead: nothing moves, and the plugin says nothing. */
  #isDead = false;
  /** Of the next message, where it is not what it should be. */
  #wrongBytes: ((dueBytes: number) => number) | undefined;
  /** How much longer each message takes. */
  #slowUs = 0;

  constructor(fabric: SimFabric, from: SimChannel, to: SimChannel) {
    this.#fabric = fabric;
    this.from = from;
    this.to = to;
  }

  die(): void {
    this.#isDead = true;
  }

  /** The next message has another length. */
  resize(wrongBytes: (dueBytes: number) => number): void {
    this.#wrongBytes = wrongBytes;
  }

  slowDown(byUs: number): void {
    this.#slowUs = byUs;
  }

  send(order: ChunkOrder): void {
    this.#queue.push(order);
    this.#post();
    this.checkEnd();
  }

  receive(order: ChunkOrder): void {
    this.#receives.push(order);
    this.#match();
    this.checkEnd();
  }

  #post(): void {
    while (this.#posted.length + this.#wire.length < SEND_POOL) {
      const order = this.#queue.shift();
      if (order === undefined) return;
      this.#posted.push(order);
      this.#fabric.soon('post', () => this.from.act(() => this.#transmit()));
    }
  }

  // The plugin reads the source when it sends, some time after the post.
  #transmit(): void {
    const order = this.#posted.shift();
    if (order === undefined || this.#isDead) return;
    const whole = this.from.process.read(order);
    const wrongBytes = this.#wrongBytes?.(whole.length);
    this.#wrongBytes = undefined;
    const bytes = wrongBytes === undefined ? whole : new Uint8Array(wrongBytes);
    this.#wire.push({ order, bytes });
    const { nowUs } = this.#fabric.time;
    const dueUs = Math.max(this.#arrivalUs, nowUs + this.#fabric.delayUs('wire'));
    this.#arrivalUs = dueUs + this.#slowUs;
    this.#fabric.time.at(this.#arrivalUs, () => this.#arrive());
  }

  #arrive(): void {
    if (this.#isDead) return;
    const openUs = this.#fabric.openUs(this.from, this.to);
    if (openUs > this.#fabric.time.nowUs) {
      this.#fabric.time.at(openUs, () => this.#arrive());
      return;
    }
    const message = this.#wire.shift();
    if (message === undefined) return;
    this.#arrived.push(message);
    // The kernel has taken it: its buffer is free.
    this.from.act(() => {
      if (message.order.isLast) this.from.tellPart(SEND, message.order);
      this.#post();
    });
    this.#match();
    this.checkEnd();
  }

  #match(): void {
    while (this.#unpacking.length < RECEIVE_POOL) {
      const message = this.#arrived[0];
      const receive = this.#receives[0];
      if (message === undefined || receive === undefined || this.to.isGone) return;
      this.#arrived.shift();
      this.#receives.shift();
      if (message.order.tag !== receive.tag) {
        this.#fabric.fail(
          new Violation(`tag ${message.order.tag} met the receive of tag ${receive.tag}`),
        );
        return;
      }
      this.#unpacking.push({ message, receive, placed: 0 });
      this.#fabric.soon('unpack', () => this.to.act(() => this.#unpack()));
    }
  }

  // Fragment by fragment; a message of another length is seen before any of it is placed.
  #unpack(): void {
    const first = this.#unpacking[0];
    if (first === undefined) return;
    const { message, receive, placed } = first;
    const total = message.bytes.length;
    if (total !== receive.bytes) {
      const text = `a message of ${total} bytes, ${receive.bytes} are due`;
      this.to.break(new TcpxError('ERR_WIRE_LIMIT', text));
      return;
    }
    const isWhole = this.#fabric.random.nextChance(0.7);
    const end = isWhole ? total : this.#fabric.random.nextBetween(placed, total);
    this.to.process.write(receive, placed, message.bytes.subarray(placed, end));
    first.placed = end;
    if (end < total) {
      this.#fabric.soon('unpack', () => this.to.act(() => this.#unpack()));
      return;
    }
    this.#unpacking.shift();
    if (receive.isLast) this.to.tellPart(RECEIVE, receive);
    this.#match();
    this.checkEnd();
  }

  /** The sender's end is gone: of what is on its way some may still come. */
  cutTail(): void {
    this.#queue.length = 0;
    this.#posted.length = 0;
    if (this.#fabric.random.nextChance(0.5)) this.#wire.length = 0;
    this.checkEnd();
  }

  /** Whoever has something posted sees that the other end is gone, a little later. */
  checkEnd(): void {
    if (this.#isDead) return;
    const isSenderHit = this.to.isClosed && this.#posted.length + this.#queue.length > 0;
    if (isSenderHit) this.#breakSoon(this.from);
    const hasCome = this.#wire.length + this.#arrived.length + this.#unpacking.length > 0;
    if (this.from.isClosed && !hasCome && this.#receives.length > 0) this.#breakSoon(this.to);
  }

  #breakSoon(channel: SimChannel): void {
    const error = new TcpxError('ERR_PEER_LOST', `channel on ${channel.nic}: the peer closed`);
    this.#fabric.soon('wire', () => channel.act(() => channel.break(error)));
  }

  /** The connection is reset: both ends see it when they use it. */
  reset(): void {
    this.#wire.length = 0;
    const error = new TcpxError('ERR_PEER_LOST', `channel on ${this.from.nic}: reset`);
    for (const channel of [this.from, this.to]) {
      this.#fabric.soon('wire', () => channel.act(() => channel.break(error)));
    }
    this.#isDead = true;
  }
}
