// Direct metadata exchange between agents: listens if asked to, and keeps one connection per
// address it has sent to. Host names and IPv6 work as well as NIXL's dotted quads.

import { createServer, isIP, type Server, type Socket } from 'node:net';
import { TcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { MetadataConnection, type MetadataHandlers } from './metadata-connection.js';
import { connectSocket } from './socket-connect.js';

const CONNECTIONS_MAX = 256;
const BACKLOG = 128;
const CONNECT_TIMEOUT_MS = 1000;
const PULL_TIMEOUT_MS = 5000;

export interface EndpointOptions {
  readonly handlers: MetadataHandlers;
  readonly frameBytesMax: number;
  readonly log: Log;
}

export class MetadataEndpoint {
  readonly #options: EndpointOptions;
  readonly #accepted = new Set<MetadataConnection>();
  readonly #opened = new Map<string, Promise<MetadataConnection>>();
  #server: Server | undefined;
  #isClosed = false;

  constructor(options: EndpointOptions) {
    this.#options = options;
  }

  /** The port it listens on; undefined when it does not. */
  get port(): number | undefined {
    const address = this.#server?.address();
    return typeof address === 'object' && address !== null ? address.port : undefined;
  }

  listen(host: string, port: number): Promise<void> {
    const server = createServer({ noDelay: true, pauseOnConnect: false }, (socket) => {
      this.#accept(socket);
    });
    server.maxConnections = CONNECTIONS_MAX;
    this.#server = server;
    if (!isLoopback(host)) {
      this.#options.log.warn('metadata listener reachable from the network, without proof of who', {
        host,
      });
    }
    return new Promise((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => {
        const isTaken = error.code === 'EADDRINUSE';
        const code = isTaken ? 'ERR_SYS_ADDRESS_IN_USE' : 'ERR_SYS_CALL';
        reject(new TcpxError(code, `metadata listener on ${host}:${port}: ${error.message}`));
      });
      server.listen({ host, port, backlog: BACKLOG }, () => resolve());
    });
  }

  async push(host: string, port: number, blob: Uint8Array): Promise<void> {
    await (await this.#connection(host, port)).send({ verb: 'LOAD', blob });
  }

  /** The peer's full metadata, and where it came from. */
  async pull(host: string, port: number): Promise<{ blob: Uint8Array; origin: string }> {
    const connection = await this.#connection(host, port);
    return { blob: await connection.pull(PULL_TIMEOUT_MS), origin: connection.origin };
  }

  async invalidate(host: string, port: number, agent: string): Promise<void> {
    await (await this.#connection(host, port)).send({ verb: 'INVL', agent });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const connection of this.#accepted) connection.close();
    for (const opening of this.#opened.values()) {
      await opening.then(
        (connection) => connection.close(),
        () => undefined,
      );
    }
    const server = this.#server;
    if (server === undefined) return;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  }

  #accept(socket: Socket): void {
    const connection = this.#wrap(socket);
    this.#accepted.add(connection);
    void connection.serve().finally(() => this.#accepted.delete(connection));
  }

  /** One connection per address; a broken one is replaced at the next use. */
  async #connection(host: string, port: number): Promise<MetadataConnection> {
    const key = `${host} ${port}`;
    const known = await this.#opened.get(key)?.catch(() => undefined);
    if (known?.isOpen === true) return known;
    const opening = this.#open(host, port);
    this.#opened.set(key, opening);
    try {
      return await opening;
    } catch (error) {
      if (this.#opened.get(key) === opening) this.#opened.delete(key);
      throw error;
    }
  }

  async #open(host: string, port: number): Promise<MetadataConnection> {
    const socket = await connectSocket(host, port, CONNECT_TIMEOUT_MS);
    if (this.#isClosed) {
      socket.destroy();
      throw new TcpxError('ERR_USAGE_STATE', `connect to ${host}:${port}: the agent was closed`);
    }
    // An idle connection must not keep the program alive.
    socket.unref();
    const connection = this.#wrap(socket);
    void connection.serve();
    return connection;
  }

  #wrap(socket: Socket): MetadataConnection {
    const { handlers, frameBytesMax, log } = this.#options;
    return new MetadataConnection(socket, handlers, frameBytesMax, log);
  }
}

export function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}
