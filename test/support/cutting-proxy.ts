// A relay between client and server that can break each connection on one side only: so that one
// end knows and the other does not, as when a kernel gives up alone.

import { connect, createServer, type Server, type Socket } from 'node:net';

interface Relay {
  readonly toClient: Socket;
  readonly toServer: Socket;
}

export class CuttingProxy {
  readonly #server: Server;
  /** In order of arrival: the first is the control connection. */
  readonly #relays: Relay[] = [];
  port = 0;
  /** Where new connections go. */
  serverPort: number;

  private constructor(serverPort: number) {
    this.serverPort = serverPort;
    this.#server = createServer((toClient) => {
      const toServer = connect(this.serverPort, '127.0.0.1');
      this.#relays.push({ toClient, toServer });
      pass(toClient, toServer);
      pass(toServer, toClient);
    });
  }

  static async open(serverPort: number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(serverPort);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    const address = proxy.#server.address();
    proxy.port = typeof address === 'object' && address !== null ? address.port : 0;
    return proxy;
  }

  get count(): number {
    return this.#relays.length;
  }

  /** That side is told by a reset; the other hears nothing, and what it sends goes nowhere. */
  cut(index: number, side: 'client' | 'server'): void {
    const relay = this.#relays[index];
    if (relay === undefined) throw new Error(`no connection ${index}`);
    const { toClient, toServer } = relay;
    for (const socket of [toClient, toServer]) {
      socket
        .removeAllListeners('data')
        .removeAllListeners('close')
        .on('data', () => undefined);
    }
    (side === 'client' ? toClient : toServer).resetAndDestroy();
  }

  close(): void {
    for (const { toClient, toServer } of this.#relays) {
      toClient.destroy();
      toServer.destroy();
    }
    this.#server.close();
  }
}

function pass(from: Socket, to: Socket): void {
  from.setNoDelay(true);
  from.on('data', (bytes) => to.write(bytes));
  from.on('close', (hadError) => (hadError ? to.resetAndDestroy() : to.end()));
  from.on('error', () => undefined);
}
