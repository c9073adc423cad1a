// A relay between client and server that can break each connection on one side only: so that one
// end knows and the other does not, as when a kernel gives up alone. It can also change a bit.

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
  /** Bit to invert in what comes next over the last connection, by direction; −1 for none. */
  readonly flips = { toServer: -1, toClient: -1 };

  private constructor(serverPort: number) {
    this.serverPort = serverPort;
    this.#server = createServer((toClient) => {
      const toServer = connect(this.serverPort, '127.0.0.1');
      this.#relays.push({ toClient, toServer });
      const isLast = (): boolean => this.#relays.at(-1)?.toClient === toClient;
      pass(toClient, toServer, (bytes) => isLast() && this.#flip('toServer', bytes));
      pass(toServer, toClient, (bytes) => isLast() && this.#flip('toClient', bytes));
    });
  }

  static async open(serverPort: number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(serverPort);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    const address = proxy.#server.address();
    proxy.port = typeof address === 'object' && address !== null ? address.port : 0;
    return proxy;
  }

  #flip(direction: keyof CuttingProxy['flips'], bytes: Buffer): void {
    const bit = this.flips[direction];
    const at = bit >> 3;
    if (bit < 0 || at >= bytes.length) return;
    bytes[at] = bytes.readUInt8(at) ^ (1 << (bit & 7));
    this.flips[direction] = -1;
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

function pass(from: Socket, to: Socket, change: (bytes: Buffer) => void): void {
  from.setNoDelay(true);
  from.on('data', (bytes: Buffer) => {
    change(bytes);
    to.write(bytes);
  });
  from.on('close', (hadError) => (hadError ? to.resetAndDestroy() : to.end()));
  from.on('error', () => undefined);
}
