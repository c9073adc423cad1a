// The other end of the handshake, written from docs/protocol.md alone: it challenges, accepts and
// attaches. Data channels are symmetric, so whoever has one reads and sends frames itself. Nothing
// of src/ is imported.

import { createHmac, randomBytes } from 'node:crypto';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { control, type Heard, type Values } from './page-frames.js';
import { FEATURE, LABEL, PageConnection, proofOf, unproved } from './page-peer.js';

export interface ServerOptions {
  readonly secret?: string;
  /** Instead of what the client proposed. */
  readonly accept?: Values;
  /** ACCEPT with a proof of nothing. */
  readonly isUnproved?: boolean;
  /** Besides those that follow from the rest. */
  readonly features?: number;
  /** Code and reason, instead of ACCEPT. */
  readonly refuse?: readonly [string, string];
}

const SESSION_ID = 77;
const NO_PROOF = Buffer.alloc(32);

/** One session: its control connection, then its channels as they are attached. */
export class PageServer {
  readonly #server: Server;
  readonly #options: ServerOptions;
  readonly #sockets: Socket[] = [];
  readonly #attached: PageConnection[] = [];
  #key: Buffer = Buffer.alloc(0);
  /** Of the client that greeted last. */
  hello: Heard | undefined;
  /** What a client did that the page does not allow. */
  complaint = '';

  private constructor(options: ServerOptions) {
    this.#options = options;
    this.#server = createServer((socket) => {
      this.#sockets.push(socket);
      this.#serve(new PageConnection(socket)).catch((error: unknown) => {
        this.complaint = String(error);
        socket.destroy();
      });
    });
  }

  static async open(options: ServerOptions = {}): Promise<PageServer> {
    const server = new PageServer(options);
    await new Promise<void>((resolve) => {
      server.#server.listen(0, '127.0.0.1', resolve);
    });
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Channels in the order in which they came. */
  channel(index: number): PageConnection {
    const found = this.#attached[index];
    if (found === undefined) throw new Error(`no channel ${index}: ${this.complaint}`);
    return found;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  async #serve(connection: PageConnection): Promise<void> {
    const first = await connection.hear();
    if (first?.name === 'HELLO') await this.#greet(connection, first);
    else if (first?.name === 'ATTACH') this.#attach(connection, first);
    else throw new Error(`${first?.name ?? 'the end'} as the first frame`);
  }

  async #greet(connection: PageConnection, hello: Heard): Promise<void> {
    const { secret: text = '', refuse, accept, isUnproved = false } = this.#options;
    const { features: more = 0 } = this.#options;
    const secret = Buffer.from(text);
    this.hello = hello;
    const features = FEATURE.tcp | (text === '' ? 0 : FEATURE.secret) | more;
    const identity = { generation: randomBytes(8), nonce: randomBytes(32), name: 'a page' };
    const offer = { features, ...identity, hostId: randomBytes(16) };
    const challenge = prove('CHALLENGE', offer, (bytes) =>
      proofOf(secret, 'server', [hello.bytes], bytes),
    );
    connection.send(challenge);
    const propose = await connection.hear();
    if (propose?.name !== 'PROPOSE') throw new Error(`${propose?.name ?? 'the end'}, no PROPOSE`);
    const said = [hello.bytes, challenge];
    const proof = proofOf(secret, 'client', said, unproved(propose));
    if (!proof.equals(propose.raw('proof'))) throw new Error('the client does not prove itself');
    if (refuse !== undefined) {
      connection.send(control('REFUSE', { code: refuse[0], reason: refuse[1] }));
      return;
    }
    const wish = ['channels', 'windowChunks', 'chunkBytes'].map((name) => [
      name,
      propose.number(name),
    ]);
    const agreed = { sessionId: SESSION_ID, ...Object.fromEntries(wish), ...accept } as Values;
    const all = [...said, propose.bytes];
    const last = prove('ACCEPT', agreed, (bytes) =>
      isUnproved ? NO_PROOF : proofOf(secret, 'accept', all, bytes),
    );
    this.#key = proofOf(secret, 'session', [...all, last], Buffer.alloc(0));
    connection.send(last);
  }

  #attach(connection: PageConnection, attach: Heard): void {
    const [session, index, epoch] = ['sessionId', 'channelIndex', 'epoch'].map((name) =>
      attach.number(name),
    );
    const proofAs = (role: string): Buffer =>
      createHmac('sha256', this.#key)
        .update(`${LABEL} ${role} ${session} ${index} ${epoch} `)
        .update(attach.raw('nonce'))
        .digest();
    if (session !== SESSION_ID) throw new Error(`a channel of session ${session}`);
    if (!proofAs('attach').equals(attach.raw('proof'))) throw new Error('a channel of nobody');
    this.#attached.push(connection);
    connection.send(control('ATTACHED', { proof: proofAs('attached') }));
  }
}

function prove(name: string, values: Values, proofOver: (bytes: Uint8Array) => Buffer): Buffer {
  return control(name, {
    ...values,
    proof: proofOver(control(name, { ...values, proof: NO_PROOF })),
  });
}
