// The control stream of one epoch, from its set-up to its end. The server listens and names port
// and nonce in its hello; the client connects, both prove that they know the session's key, and the
// client says in `joined` whether the stream is used: where it cannot be reached, messages go over
// the session, more slowly, and the log says so.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { withinMs } from '../../base/clock.js';
import type { TcpxError } from '../../base/errors.js';
import { streamProof } from '../trust.js';
import type { ControlMessage, StreamOffer } from './control-message.js';
import { ControlStream } from './control-stream.js';

const NONCE_BYTES = 16;
/** Connections that have proved nothing yet. */
const UNPROVED_MAX = 8;

export interface EpochStreamParts {
  /** Of the session that the stream belongs to; never sent. */
  readonly key: Uint8Array;
  readonly epoch: number;
  readonly timeoutMs: number;
  /** From now on messages may go over it. */
  onChosen(stream: ControlStream): void;
  onMessage(message: ControlMessage): void;
  /** A stream that was chosen is over. */
  onEnd(error: TcpxError): void;
}

export class EpochStream {
  readonly #parts: EpochStreamParts;
  #server: Server | undefined;
  readonly #unproved = new Set<ControlStream>();
  #proved: ControlStream | undefined;
  #isChosen = false;
  #isClosed = false;
  #failure = 'no answer';
  #onDialled: (isThere: boolean) => void = () => undefined;

  constructor(parts: EpochStreamParts) {
    this.#parts = parts;
  }

  /** Server: waits for one connection with proof. */
  async offer(host: string): Promise<StreamOffer> {
    const nonce = randomBytes(NONCE_BYTES);
    const server = createServer((socket) => this.#onConnection(socket, nonce));
    this.#server = server;
    server.maxConnections = UNPROVED_MAX;
    server.on('error', () => server.close());
    server.listen({ host, port: 0, exclusive: true });
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    if (this.#isClosed) server.close();
    // The client dials at once, or not at all.
    setTimeout(() => this.#closeUnproved(), 2 * this.#parts.timeoutMs).unref();
    return { port, nonce: nonce.toString('hex') };
  }

  /** Client: whether the stream is there. */
  async dial(host: string, offer: StreamOffer): Promise<boolean> {
    const { key, epoch, timeoutMs } = this.#parts;
    const nonce = Buffer.from(offer.nonce, 'hex');
    const socket = connect({ host, port: offer.port, noDelay: true });
    const settled = new Promise<boolean>((resolve) => (this.#onDialled = resolve));
    const stream = this.#wrap(socket, streamProof(key, 'server', epoch, nonce), () =>
      this.#onDialled(true),
    );
    stream.prove(streamProof(key, 'client', epoch, nonce));
    const isThere = (await withinMs(settled, timeoutMs)) === true && !this.#isClosed;
    if (isThere) return this.choose();
    this.#closeUnproved();
    return false;
  }

  /** Whoever has not proved itself by now comes too late. False where nobody has. */
  choose(): boolean {
    this.#closeUnproved();
    if (this.#isChosen || this.#proved === undefined) return this.#isChosen;
    this.#isChosen = true;
    this.#parts.onChosen(this.#proved);
    return true;
  }

  /** Why there is none. */
  get failure(): string {
    return this.#failure;
  }

  /** Nothing is heard of it any more. */
  close(): void {
    this.#isClosed = true;
    this.#closeUnproved();
    this.#proved?.close();
    this.#proved = undefined;
    this.#onDialled(false);
  }

  #onConnection(socket: Socket, nonce: Uint8Array): void {
    const { key, epoch } = this.#parts;
    if (this.#proved !== undefined || this.#unproved.size >= UNPROVED_MAX) {
      socket.destroy();
      return;
    }
    const stream = this.#wrap(socket, streamProof(key, 'client', epoch, nonce), () =>
      stream.prove(streamProof(key, 'server', epoch, nonce)),
    );
  }

  #wrap(socket: Socket, expectedProof: Uint8Array, onProved: () => void): ControlStream {
    const stream: ControlStream = new ControlStream(socket, expectedProof, {
      onProved: () => {
        this.#unproved.delete(stream);
        this.#proved = stream;
        // One is enough: those that have proved nothing yet are turned away.
        this.#closeUnproved();
        onProved();
      },
      onMessage: (message) => {
        // The client's word that it uses the stream may still be on its way over the session.
        this.choose();
        this.#parts.onMessage(message);
      },
      onEnd: (error) => this.#onEnd(stream, error),
    });
    this.#unproved.add(stream);
    return stream;
  }

  #onEnd(stream: ControlStream, error: TcpxError): void {
    this.#unproved.delete(stream);
    if (this.#proved === stream) this.#proved = undefined;
    this.#failure = error.message;
    if (this.#isChosen) this.#parts.onEnd(error);
    else this.#onDialled(false);
  }

  #closeUnproved(): void {
    this.#server?.close();
    this.#server = undefined;
    for (const stream of this.#unproved) stream.close();
    this.#unproved.clear();
  }
}
