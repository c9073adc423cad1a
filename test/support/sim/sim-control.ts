// A virtual connection before it belongs to a lane: frames are encoded, cut into pieces by the
// port, delayed, and decoded at the other end. The main thread looks at what has come when it runs.
// A session's control connection is one of these for ever.

import { assert } from '../../../src/base/assert.js';
import { TcpxError } from '../../../src/base/errors.js';
import type { DataSocket, Heard, PeerConnection } from '../../../src/engine/peer-network.js';
import { END_OF_STREAM } from '../../../src/os/control-socket.js';
import { createFixedMemory } from '../../../src/os/fixed-memory.js';
import { WOULD_BLOCK } from '../../../src/provider/tcp/port/stream-port.js';
import {
  ControlKind,
  type ControlMessage,
  encodeControl,
} from '../../../src/wire/control-frame.js';
import { ControlReader } from '../../../src/wire/control-reader.js';
import type { SimPort } from './sim-connection.js';
import { isPortSilent, keepAsking } from './sim-keep-alive.js';
import type { SimTime } from './sim-time.js';

/** What happens to frames on their way, and who is told what was said. */
export interface ControlRules {
  readonly time: SimTime;
  /** Whether a message of a session is said twice. */
  isDuplicated(): boolean;
  /** Somebody on the way may change a frame of a greeting; false where nobody did. */
  change(frame: Uint8Array): boolean;
  /** An ATTACHED or ACCEPT has come, to what was sent on this connection. */
  onAnswered(control: SimControl, sent: readonly Uint8Array[], answer: ControlMessage): void;
}

export interface ControlEnds {
  readonly peerHost: string;
  readonly localHost: string;
}

/** What runs when the owner's main thread does. */
export interface ControlOwner {
  /** Returns what takes it back. */
  at(atUs: number, act: () => void): () => void;
  /** Something that was waited for has come. */
  onWake(): void;
  onReleased(control: SimControl): void;
}

const PIECE_BYTES = 512;
/** Where pieces pass through: a port copies at once. */
const piece = createFixedMemory(PIECE_BYTES);
const GREETING: readonly number[] = [
  ControlKind.Hello,
  ControlKind.Challenge,
  ControlKind.Propose,
  ControlKind.Accept,
];

export class SimControl implements PeerConnection {
  readonly port: SimPort;
  readonly localHost: string;
  readonly peerHost: string;
  readonly where: string;
  readonly isLoopback = false;
  readonly roundTripUs = undefined;
  readonly #rules: ControlRules;
  readonly #owner: ControlOwner;
  readonly #reader = new ControlReader();
  /** Before the connection belongs to somebody; for whoever listens in. */
  readonly #said: Uint8Array[] = [];
  #output = new Uint8Array(0);
  isOpen = true;
  #accident: string | undefined;
  #failure: TcpxError | undefined;
  #waiter: ((heard: Heard) => void) | undefined;
  #onMessage: ((message: ControlMessage) => void) | undefined;
  #onFailure: ((error: TcpxError) => void) | undefined;

  constructor(port: SimPort, ends: ControlEnds, rules: ControlRules, owner: ControlOwner) {
    this.port = port;
    this.peerHost = ends.peerHost;
    this.localHost = ends.localHost;
    this.where = `${ends.peerHost}:1`;
    this.#rules = rules;
    this.#owner = owner;
  }

  send(message: ControlMessage): void {
    if (!this.isOpen) throw new TcpxError('ERR_PEER_LOST', `${this.where}: connection is gone`);
    const frame = encodeControl(message);
    if (this.#onMessage === undefined) this.#said.push(frame);
    if (GREETING.includes(message.kind)) {
      const changed = frame.slice();
      if (this.#rules.change(changed)) this.port.connection.isChanged = true;
      this.sendBytes(changed);
      return;
    }
    const isTwice = this.#onMessage !== undefined && this.#rules.isDuplicated();
    for (let copy = 0; copy < (isTwice ? 2 : 1); copy++) this.sendBytes(frame);
  }

  sendBytes(bytes: Uint8Array): void {
    this.#output = Buffer.concat([this.#output, bytes]);
    this.#flush();
    if (!this.isOpen) throw new TcpxError('ERR_PEER_LOST', `${this.where}: connection is gone`);
  }

  // A kernel takes what it has room for: there is always some on a connection that is new.
  #flush(): number {
    let moved = 0;
    while (this.#output.length > 0 && this.isOpen && this.port.out.roomBytes > 0) {
      const bytes = Math.min(PIECE_BYTES, this.#output.length);
      piece.uint8.set(this.#output.subarray(0, bytes));
      this.port.setSend(0, piece.addr, bytes);
      const sent = this.port.send(0, 1, false);
      if (sent < 0 && sent !== WOULD_BLOCK) {
        this.#lost('ECONNRESET');
        return moved + 1;
      }
      this.#output = this.#output.subarray(Math.max(0, sent));
      moved++;
    }
    return moved;
  }

  hear(untilUs: number): Promise<Heard> {
    assert(this.#waiter === undefined && this.#onMessage === undefined, 'one waits at a time');
    if (this.#failure !== undefined) {
      return Promise.resolve({ kind: 'lost', error: this.#failure });
    }
    return new Promise((resolve) => {
      const cancel = this.#owner.at(untilUs, () => this.#tell({ kind: 'time' }));
      this.#waiter = (heard) => {
        cancel();
        resolve(heard);
      };
    });
  }

  #tell(heard: Heard): void {
    const waiter = this.#waiter;
    if (waiter === undefined) return;
    this.#waiter = undefined;
    this.#owner.onWake();
    waiter(heard);
  }

  tune(): void {
    assert(this.isOpen || this.#failure !== undefined, 'nobody tunes what was given away');
  }

  release(): DataSocket {
    assert(this.#output.length === 0, 'what was said is on its way before a lane speaks');
    this.isOpen = false;
    this.port.connection.isData = true;
    this.#owner.onReleased(this);
    return { fd: this.port.fd };
  }

  handOver(
    onMessage: (message: ControlMessage) => void,
    onFailure: (error: TcpxError) => void,
    silentMs: number,
  ): void {
    this.#onMessage = onMessage;
    this.#onFailure = onFailure;
    this.port.connection.isControl = true;
    if (silentMs < Number.POSITIVE_INFINITY) {
      const isOpen = (): boolean => this.isOpen;
      const lose = (reason: string): void => this.lose(reason);
      keepAsking(this.#rules.time, this.port, silentMs, isOpen, lose);
    }
    if (this.#failure !== undefined) onFailure(this.#failure);
  }

  /** Nothing passes, in one direction or both, and nobody is told. */
  get isSilent(): boolean {
    return isPortSilent(this.port);
  }

  silenceUntil(untilUs: number): void {
    for (const pipe of [this.port.out, this.port.into]) {
      pipe.frozenUs = Math.max(pipe.frozenUs, untilUs);
    }
  }

  close(): void {
    this.#end(() => this.port.close(false));
  }

  abort(): void {
    this.#end(() => this.port.close(true));
  }

  #end(closePort: () => void): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    closePort();
    const error = new TcpxError('ERR_USAGE_STATE', `${this.where}: the connection was closed`);
    this.#tell({ kind: 'lost', error });
  }

  /** An accident: this end is told that the connection is gone, and the other is not. */
  lose(reason: string): void {
    this.#accident = reason;
  }

  /** Hands on what has come; returns how much. */
  poll(): number {
    let moved = this.isOpen ? this.#flush() : 0;
    while (this.isOpen) {
      if (this.#accident !== undefined) {
        this.port.vanish();
        this.#fail(new TcpxError('ERR_PEER_LOST', `${this.where}: ${this.#accident}`));
        return moved + 1;
      }
      // Until somebody asks nothing is read: the bytes may be for a lane.
      const isReading = this.#waiter !== undefined || this.#onMessage !== undefined;
      if (!isReading && !this.port.into.isReset) return moved;
      const received = isReading ? this.#receive() : -1;
      if (received === WOULD_BLOCK && isReading) return moved;
      moved++;
      if (received <= 0) this.#lost(received === 0 ? END_OF_STREAM : 'ECONNRESET');
    }
    return moved;
  }

  #receive(): number {
    const bytes = Math.min(PIECE_BYTES, this.#reader.bytesWanted);
    this.port.setReceive(0, piece.addr, bytes);
    const received = this.port.receive(1);
    if (received > 0) this.#onBytes(piece.uint8.slice(0, received));
    return received;
  }

  #onBytes(bytes: Uint8Array): void {
    let message: ControlMessage | undefined;
    try {
      message = this.#reader.push(bytes);
    } catch (error) {
      if (!(error instanceof TcpxError)) throw error;
      this.#failure = new TcpxError(error.code, `${this.where}: ${error.message}`);
      this.#tell({ kind: 'lost', error: this.#failure });
      this.#onFailure?.(this.#failure);
      return;
    }
    if (message === undefined) return;
    if (this.#onMessage !== undefined) {
      this.#onMessage(message);
      return;
    }
    const isAnswer = message.kind === ControlKind.Attached || message.kind === ControlKind.Accept;
    if (isAnswer) this.#rules.onAnswered(this, this.#said, message);
    this.#tell({ kind: 'message', message });
  }

  #lost(reason: string): void {
    this.port.close(false);
    this.#fail(new TcpxError('ERR_PEER_LOST', `${this.where}: ${reason}`));
  }

  #fail(error: TcpxError): void {
    this.isOpen = false;
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#tell({ kind: 'lost', error });
    this.#onFailure?.(error);
  }
}
