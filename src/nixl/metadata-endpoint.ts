// Direct metadata exchange between agents: listens if asked to, and keeps one connection per
// address it has sent to. Host names and IPv6 work as well as NIXL's dotted quads.

import { createServer, isIP, type Server, type Socket } from 'node:net';
import { formatEndpoint } from '../base/endpoint.js';
import { isTcpxError, TcpxError } from '../base/errors.js';
import { LimitedLog } from '../base/limited-log.js';
import type { Log } from '../base/log.js';
import { ListenerBudget } from './listener-budget.js';
import { MetadataConnection, type MetadataHandlers } from './metadata-connection.js';
import { connectSocket } from './socket-connect.js';

const BACKLOG = 128;
const CONNECT_TIMEOUT_MS = 1000;
const PULL_TIMEOUT_MS = 5000;

export interface EndpointOptions {
  readonly handlers: MetadataHandlers;
  readonly frameBytesMax: number;
  /** What all connections may hold together. */
  readonly bytesMax: number;
  /** Accepted ones that may be open at a time. */
  readonly connectionsMax: number;
  readonly log: Log;
}

export class MetadataEndpoint {
  readonly #options: EndpointOptions;
  /** Accepted and opened, as long as they live. */
  readonly #live = new Set<MetadataConnection>();
  readonly #opened = new Map<string, Promise<MetadataConnection>>();
  #server: Server | undefined;
  #isClosed = false;

  readonly #budget: ListenerBudget;
  readonly #warnings: LimitedLog;

  constructor(options: EndpointOptions) {
    this.#options = options;
    this.#budget = new ListenerBudget(options.bytesMax);
    this.#warnings = new LimitedLog(options.log);
  }

  /** What is held of blobs that are arriving and answers that are not taken. */
  get heldBytes(): number {
    return this.#budget.totalBytes;
  }

  /** The port it listens on; undefined when it does not. */
  get port(): number | undefined {
    const address = this.#server?.address();
    return typeof address === 'object' && address !== null ? address.port : undefined;
  }

  listen(host: string, port: number): Promise<void> {
    const server = createServer({ noDelay: true, pauseOnConnect: false }, (socket) => {
      this.#adopt(socket);
    });
    const { connectionsMax } = this.#options;
    server.maxConnections = connectionsMax;
    server.on('drop', (from) => {
      const limit = 'nixl.listenerConnectionsMax allows no more';
      const reason = `${connectionsMax} connections are open, ${limit}`;
      this.#warnings.warn('metadata peer refused', { peer: from?.remoteAddress, reason });
    });
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
        reject(
          new TcpxError(
            code,
            `metadata listener on ${formatEndpoint(host, port)}: ${error.message}`,
          ),
        );
      });
      server.listen({ host, port, backlog: BACKLOG }, () => resolve());
    });
  }

  async push(host: string, port: number, blob: Uint8Array): Promise<void> {
    await this.#use(host, port, (connection) => connection.send({ verb: 'LOAD', blob }));
  }

  /** The peer's full metadata, and where it came from. */
  async pull(host: string, port: number): Promise<{ blob: Uint8Array; origin: string }> {
    return this.#use(host, port, async (connection) => {
      return { blob: await connection.pull(PULL_TIMEOUT_MS), origin: connection.origin };
    });
  }

  async invalidate(host: string, port: number, agent: string): Promise<void> {
    await this.#use(host, port, (connection) => connection.send({ verb: 'INVL', agent }));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const connection of this.#live) connection.close();
    await Promise.allSettled(this.#opened.values());
    const server = this.#server;
    if (server === undefined) return;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  }

  #adopt(socket: Socket): MetadataConnection {
    const { handlers, frameBytesMax, log } = this.#options;
    const [budget, warnings] = [this.#budget, this.#warnings];
    const options = { handlers, frameBytesMax, budget, warnings, log };
    const connection = new MetadataConnection(socket, options);
    this.#live.add(connection);
    void connection.serve().finally(() => this.#live.delete(connection));
    return connection;
  }

  /** On the connection to that address; one kept from earlier may turn out dead, a new one not. */
  async #use<T>(
    host: string,
    port: number,
    action: (connection: MetadataConnection) => Promise<T>,
  ): Promise<T> {
    const known = await this.#opened.get(`${host} ${port}`)?.catch(() => undefined);
    if (known?.isOpen === true) {
      try {
        return await action(known);
      } catch (error) {
        if (!isTcpxError(error, 'ERR_PEER_LOST')) throw error;
      }
    }
    return action(await this.#connect(host, port));
  }

  async #connect(host: string, port: number): Promise<MetadataConnection> {
    const key = `${host} ${port}`;
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
      const where = formatEndpoint(host, port);
      throw new TcpxError('ERR_USAGE_STATE', `connect to ${where}: the agent was closed`);
    }
    return this.#adopt(socket);
  }
}

export function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}
