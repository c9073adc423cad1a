// A virtual connection below a match connection: bytes are taken in pieces of any size, and what
// has come is told when the main thread runs.

import { createFixedMemory } from '../../../src/os/fixed-memory.js';
import { WOULD_BLOCK } from '../../../src/provider/tcp/port/stream-port.js';
import type { MatchSocket, MatchSocketEvents } from '../../../src/provider/tcpx/match-socket.js';
import type { SimPort } from './sim-connection.js';
import { keepAsking } from './sim-keep-alive.js';
import type { SimTime } from './sim-time.js';

const PIECE_BYTES = 2048;
/** Where pieces pass through: a port copies at once. */
const piece = createFixedMemory(PIECE_BYTES);

export interface MatchSocketParts {
  readonly time: SimTime;
  readonly silentMs: number;
  after(delayMs: number, act: () => void): () => void;
  /** Something has come. */
  onWake(): void;
  onClosed(socket: SimMatchSocket): void;
}

export class SimMatchSocket implements MatchSocket {
  readonly fd: number;
  readonly receiveBytesMax = PIECE_BYTES;
  readonly port: SimPort;
  readonly #parts: MatchSocketParts;
  readonly #events: MatchSocketEvents;
  #accident = '';
  #isOpen = true;

  constructor(port: SimPort, parts: MatchSocketParts, events: MatchSocketEvents) {
    this.fd = port.fd;
    this.port = port;
    this.#parts = parts;
    this.#events = events;
    const lose = (reason: string): void => {
      this.#accident = reason;
    };
    keepAsking(parts.time, port, parts.silentMs, () => this.#isOpen, lose);
  }

  send(bytes: Uint8Array): number {
    const part = bytes.subarray(0, PIECE_BYTES);
    piece.uint8.set(part);
    this.port.setSend(0, piece.addr, part.length);
    return this.port.send(0, 1, false);
  }

  receive(): Uint8Array | number {
    this.port.setReceive(0, piece.addr, PIECE_BYTES);
    const received = this.port.receive(1);
    return received > 0 ? piece.uint8.slice(0, received) : received;
  }

  nameOf(errno: number): string {
    return `errno ${errno}`;
  }

  after(delayMs: number, act: () => void): () => void {
    return this.#parts.after(delayMs, act);
  }

  /** As Node does when its event loop runs; how much has come. */
  watch(): number {
    let count = 0;
    while (this.#isOpen) {
      if (this.#accident !== '') {
        this.port.vanish();
        this.#events.onEnd(this.#accident);
        return count + 1;
      }
      const received = this.receive();
      if (received === WOULD_BLOCK) return count;
      this.#parts.onWake();
      count++;
      if (typeof received !== 'number') this.#events.onBytes(received);
      else this.#events.onEnd(received === 0 ? 'the peer closed it' : this.nameOf(-received));
    }
    return count;
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.port.close(false);
    this.#parts.onClosed(this);
  }
}
