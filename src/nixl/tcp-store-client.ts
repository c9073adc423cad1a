// The client side of PyTorch's TCPStore, as much of it as metadata needs. Requests go one at a
// time; a broken connection is opened anew at the next request. Integers are little endian.

import type { Socket } from 'node:net';
import { TcpxError } from '../base/errors.js';
import { readU64, writeU64 } from './serdes.js';
import { connectSocket } from './socket-connect.js';
import { SocketReader, writeAll } from './socket-reader.js';

export const TCP_STORE_MAGIC = 0x3c85f7ce;

/** The query bytes that open each request. */
export const TcpStoreQuery = Object.freeze({
  VALIDATE: 0,
  SET: 1,
  GET: 3,
  CHECK: 5,
  DELETE: 8,
  PING: 13,
} as const);

const CHECK_READY = 0;

export interface TcpStoreClientOptions {
  readonly host: string;
  readonly port: number;
  readonly connectTimeoutMs: number;
  readonly opTimeoutMs: number;
  readonly valueBytesMax: number;
}

interface Connection {
  readonly socket: Socket;
  readonly reader: SocketReader;
}

export class TcpStoreClient {
  readonly #options: TcpStoreClientOptions;
  readonly #label: string;
  #connection: Connection | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: TcpStoreClientOptions) {
    this.#options = options;
    this.#label = `TCPStore ${options.host}:${options.port}`;
  }

  set(key: string, value: Uint8Array): Promise<void> {
    const request = [
      byte(TcpStoreQuery.SET),
      lengthAndBytes(Buffer.from(key)),
      lengthAndBytes(value),
    ];
    return this.#request(request, () => Promise.resolve());
  }

  check(key: string): Promise<boolean> {
    const request = [byte(TcpStoreQuery.CHECK), u64(1), lengthAndBytes(Buffer.from(key))];
    return this.#request(request, async (reader) => {
      const answer = await reader.read(1, this.#options.opTimeoutMs);
      return answer[0] === CHECK_READY;
    });
  }

  /** Only for keys that `check` found: the server keeps a GET of a missing key waiting. */
  get(key: string): Promise<Buffer> {
    const request = [byte(TcpStoreQuery.GET), lengthAndBytes(Buffer.from(key))];
    return this.#request(request, async (reader) => {
      const bytes = await this.#readLength(reader);
      return reader.read(bytes, this.#options.opTimeoutMs);
    });
  }

  /** How many keys were deleted: 0 or 1. */
  delete(key: string): Promise<number> {
    const request = [byte(TcpStoreQuery.DELETE), lengthAndBytes(Buffer.from(key))];
    return this.#request(request, async (reader) => {
      const answer = await reader.read(8, this.#options.opTimeoutMs);
      return Number(answer.readBigInt64LE());
    });
  }

  close(): void {
    this.#connection?.socket.destroy();
    this.#connection = undefined;
  }

  #request<T>(request: Uint8Array[], answer: (reader: SocketReader) => Promise<T>): Promise<T> {
    const turn = this.#last.then(async () => {
      const connection = await this.#connected();
      // Idle, the connection does not keep the program alive; with a request under way it does.
      connection.socket.ref();
      try {
        await writeAll(connection.socket, Buffer.concat(request), this.#label);
        return await answer(connection.reader);
      } catch (error) {
        // The stream is out of step now: nothing more may be read from it.
        this.close();
        throw error;
      } finally {
        connection.socket.unref();
      }
    });
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #connected(): Promise<Connection> {
    const known = this.#connection;
    if (known !== undefined && !known.socket.destroyed && known.socket.writable) return known;
    const { host, port, connectTimeoutMs } = this.#options;
    const socket = await connectSocket(host, port, connectTimeoutMs);
    const connection = { socket, reader: new SocketReader(socket, this.#label) };
    await this.#handshake(connection);
    this.#connection = connection;
    return connection;
  }

  async #handshake({ socket, reader }: Connection): Promise<void> {
    const nonce = process.pid >>> 0;
    const hello = [byte(TcpStoreQuery.VALIDATE), u32(TCP_STORE_MAGIC)];
    const ping = [byte(TcpStoreQuery.PING), u32(nonce)];
    await writeAll(socket, Buffer.concat([...hello, ...ping]), this.#label);
    const echo = await reader.read(4, this.#options.opTimeoutMs);
    if (echo.readUInt32LE() === nonce) return;
    socket.destroy();
    throw new TcpxError('ERR_WIRE_MAGIC', `${this.#label}: the answer to the handshake is wrong`);
  }

  async #readLength(reader: SocketReader): Promise<number> {
    const head = await reader.read(8, this.#options.opTimeoutMs);
    const bytes = readU64(new DataView(head.buffer, head.byteOffset, 8), 0);
    const limit = this.#options.valueBytesMax;
    if (bytes !== undefined && bytes <= limit) return bytes;
    throw new TcpxError(
      'ERR_WIRE_LIMIT',
      `${this.#label}: a value of ${bytes ?? 'more than 2^53'} bytes; at most ${limit} are taken`,
    );
  }
}

function byte(value: number): Buffer {
  return Buffer.from([value]);
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  writeU64(new DataView(bytes.buffer, bytes.byteOffset, 8), 0, value);
  return bytes;
}

function lengthAndBytes(bytes: Uint8Array): Buffer {
  return Buffer.concat([u64(bytes.length), bytes]);
}
