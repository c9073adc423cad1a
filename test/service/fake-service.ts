// A socket where a library looks for a service, with answers that no service of this version gives.

import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { MESSAGE_HEAD, SERVICE_VERSION } from '../../src/base/service-layout.js';
import { encodeAttached } from '../../src/service/message-codec.js';
import { type Message, MessageStream } from '../../src/service/message-stream.js';

const MESSAGE_BYTES_MAX = 1 << 20;

export interface FakeAnswer {
  readonly status?: number;
  readonly payload: Uint8Array;
}

/** What an attach is answered with in this version, but for what is said; without descriptors. */
export function attachedAs(facts: { readonly version?: number } = {}): Uint8Array {
  const shape = { requestCount: 1, peerCount: 1, blocksMax: 1, canCopy: 1, mappingBytes: 4096 };
  const places = { commandsAt: 0, eventsAt: 0, requestsAt: 0, peersAt: 0 };
  return encodeAttached({ version: SERVICE_VERSION, ...shape, ...places, ...facts }, 'tcpx-conn/1');
}

export class FakeService {
  /** Questions that came. */
  asked = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(answer: FakeAnswer | undefined) {
    this.#server = createServer((socket) => this.#serve(socket, answer));
  }

  /** Without an answer it says nothing, ever. */
  static async open(folder: string, answer: FakeAnswer | undefined): Promise<FakeService> {
    const fake = new FakeService(answer);
    fake.#server.listen(join(folder, 'service.sock'));
    await once(fake.#server, 'listening');
    return fake;
  }

  #serve(socket: Socket, answer: FakeAnswer | undefined): void {
    const stream = new MessageStream(MESSAGE_BYTES_MAX);
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      stream.push(bytes);
      for (let message = stream.take(); message !== undefined; message = stream.take()) {
        this.asked++;
        if (answer !== undefined) socket.write(encodeAnswer(message, answer));
      }
    });
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

function encodeAnswer({ kind, sequence }: Message, { status = 0, payload }: FakeAnswer): Buffer {
  const head = Buffer.alloc(MESSAGE_HEAD.bytes);
  const values = { bytes: head.length + payload.length, kind, sequence, status };
  for (const [name, value] of Object.entries(values)) {
    head.writeInt32LE(value, MESSAGE_HEAD.fields[name as keyof typeof values].offset);
  }
  return Buffer.concat([head, payload]);
}
