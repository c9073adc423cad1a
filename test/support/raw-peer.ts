// A peer that speaks the control protocol by hand over a plain socket: it can say anything.

import { connect, createServer, type Server, type Socket } from 'node:net';
import {
  CONTROL_HEAD_BYTES,
  type ControlMessage,
  decodeControlBody,
  decodeControlHead,
  encodeControl,
} from '../../src/wire/control-frame.js';

export class RawPeer {
  readonly socket: Socket;
  #bytes = Buffer.alloc(0);
  #isClosed = false;
  #wake: () => void = () => undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (data: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, data]);
      this.#wake();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#isClosed = true;
      this.#wake();
    });
  }

  static async connect(port: number, host = '127.0.0.1'): Promise<RawPeer> {
    const socket = connect(port, host);
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject);
    });
    return new RawPeer(socket);
  }

  send(message: ControlMessage): void {
    this.socket.write(encodeControl(message));
  }

  sendBytes(bytes: Uint8Array): void {
    this.socket.write(bytes);
  }

  /** The next frame, or undefined when the other end closes instead. */
  async next(timeoutMs = 5000): Promise<ControlMessage | undefined> {
    const endMs = performance.now() + timeoutMs;
    for (;;) {
      const head = decodeControlHead(this.#bytes);
      const wholeBytes = CONTROL_HEAD_BYTES + (head?.bodyBytes ?? 0);
      if (head !== undefined && this.#bytes.length >= wholeBytes) {
        const body = Uint8Array.from(this.#bytes.subarray(CONTROL_HEAD_BYTES, wholeBytes));
        this.#bytes = this.#bytes.subarray(wholeBytes);
        return decodeControlBody(head.kind, body);
      }
      if (this.#isClosed) return undefined;
      await this.#change(endMs - performance.now());
    }
  }

  /** Milliseconds until the other end closed. */
  async closed(timeoutMs = 5000): Promise<number> {
    const startMs = performance.now();
    while (!this.#isClosed) await this.#change(timeoutMs - (performance.now() - startMs));
    return performance.now() - startMs;
  }

  #change(leftMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('the other end does nothing')), leftMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  close(): void {
    this.socket.destroy();
  }
}

/** A listening socket that hands every connection to the test. */
export async function listenRaw(onPeer: (peer: RawPeer) => void): Promise<{
  readonly port: number;
  readonly close: () => void;
}> {
  const sockets: Socket[] = [];
  const server: Server = createServer((socket) => {
    sockets.push(socket);
    onPeer(new RawPeer(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    port,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
