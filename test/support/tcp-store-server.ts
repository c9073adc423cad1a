// A small TCPStore server for tests: the queries that metadata uses, spoken as PyTorch's does.
// Whoever breaks the protocol is cut off. GET of a missing key waits for it, as the original does.

import { createServer, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { assert } from '../../src/base/assert.js';
import { SocketReader } from '../../src/nixl/socket-reader.js';
import { TCP_STORE_MAGIC, TcpStoreQuery } from '../../src/nixl/tcp-store-client.js';

const NO_LIMIT = 0;

export class TcpStoreServer {
  readonly values = new Map<string, Buffer>();
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #waiters = new Map<string, (() => void)[]>();
  #port = 0;

  private constructor() {
    this.#server = createServer((socket) => void this.#serve(socket));
  }

  static async start(t: TestContext, port = 0): Promise<TcpStoreServer> {
    const store = new TcpStoreServer();
    await store.listen(port);
    t.after(() => store.stop());
    return store;
  }

  get endpoint(): string {
    return `127.0.0.1:${this.#port}`;
  }

  async listen(port = this.#port): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.listen(port, '127.0.0.1', () => resolve());
    });
    const address = this.#server.address();
    assert(typeof address === 'object' && address !== null, 'it listens on TCP');
    this.#port = address.port;
  }

  /** Values stay, as if only the network had failed. */
  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  async #serve(socket: Socket): Promise<void> {
    this.#sockets.add(socket);
    const reader = new SocketReader(socket, 'TCPStore client');
    try {
      const hello = await reader.read(5, NO_LIMIT);
      const isGreeting = hello[0] === TcpStoreQuery.VALIDATE;
      if (!isGreeting || hello.readUInt32LE(1) !== TCP_STORE_MAGIC) throw new Error('no greeting');
      for (;;) {
        const [query] = await reader.read(1, NO_LIMIT);
        await this.#answer(query ?? -1, reader, socket);
      }
    } catch {
      socket.destroy();
      this.#sockets.delete(socket);
    }
  }

  async #answer(query: number, reader: SocketReader, socket: Socket): Promise<void> {
    switch (query) {
      case TcpStoreQuery.PING:
        socket.write(await reader.read(4, NO_LIMIT));
        return;
      case TcpStoreQuery.SET: {
        const key = await readText(reader);
        this.values.set(key, await readBytes(reader));
        for (const wake of this.#waiters.get(key) ?? []) wake();
        return;
      }
      case TcpStoreQuery.CHECK:
        socket.write(Buffer.from([(await this.#hasAll(reader)) ? 0 : 1]));
        return;
      case TcpStoreQuery.GET: {
        const value = await this.#awaited(await readText(reader));
        socket.write(Buffer.concat([u64(value.length), value]));
        return;
      }
      case TcpStoreQuery.DELETE:
        socket.write(u64(this.values.delete(await readText(reader)) ? 1 : 0));
        return;
      default:
        throw new Error(`query ${query}`);
    }
  }

  async #hasAll(reader: SocketReader): Promise<boolean> {
    const count = Number((await reader.read(8, NO_LIMIT)).readBigUInt64LE());
    let hasAll = true;
    for (let index = 0; index < count; index++) {
      const key = await readText(reader);
      hasAll &&= this.values.has(key);
    }
    return hasAll;
  }

  async #awaited(key: string): Promise<Buffer> {
    for (;;) {
      const value = this.values.get(key);
      if (value !== undefined) return value;
      await new Promise<void>((resolve) => {
        this.#waiters.set(key, [...(this.#waiters.get(key) ?? []), resolve]);
      });
    }
  }
}

async function readBytes(reader: SocketReader): Promise<Buffer> {
  const bytes = Number((await reader.read(8, NO_LIMIT)).readBigUInt64LE());
  return Buffer.from(await reader.read(bytes, NO_LIMIT));
}

async function readText(reader: SocketReader): Promise<string> {
  return (await readBytes(reader)).toString();
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}
