// A server that attaches whatever comes, and then does not do its part: it confirms nothing, or
// answers a read with a byte now and then. It keeps to every rule that a frame can break.

import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { Transcript } from '../../src/engine/transcript.js';
import { attachProof } from '../../src/engine/trust.js';
import { ControlKind, Feature, type MessageOf } from '../../src/wire/control-frame.js';
import * as frame from '../../src/wire/data-frame.js';
import { RAW_GENERATION, RAW_HOST_ID } from './raw-handshake.js';
import { listenRaw, type RawPeer } from './raw-peer.js';

const SESSION_ID = 7;
const TRICKLE_MS = 50;

export class HostileServer {
  port = 0;
  /** Data connections that were attached so far. */
  attached = 0;
  readonly #isTrickling: boolean;
  #key: Uint8Array = new Uint8Array(0);
  #timers: NodeJS.Timeout[] = [];
  #close: () => void = () => undefined;

  private constructor(isTrickling: boolean) {
    this.#isTrickling = isTrickling;
  }

  /** `silent`: nothing is ever confirmed. `trickling`: reads are answered, byte by byte. */
  static async open(manner: 'silent' | 'trickling'): Promise<HostileServer> {
    const server = new HostileServer(manner === 'trickling');
    const listening = await listenRaw((peer) => {
      void server.#serve(peer).catch(() => peer.close());
    });
    server.port = listening.port;
    server.#close = () => listening.close();
    return server;
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#close();
  }

  async #serve(peer: RawPeer): Promise<void> {
    const first = await peer.next();
    if (first?.kind === ControlKind.Hello) await this.#greet(peer, first);
    else if (first?.kind === ControlKind.Attach) this.#attach(peer, first);
  }

  async #greet(peer: RawPeer, hello: MessageOf<typeof ControlKind.Hello>): Promise<void> {
    const transcript = new Transcript(new Uint8Array(0));
    transcript.add(hello);
    const identity = { generation: RAW_GENERATION, hostId: RAW_HOST_ID, name: 'hostile' };
    const nonce = randomBytes(32);
    const features = Feature.Tcp;
    peer.send(transcript.sign({ kind: ControlKind.Challenge, features, nonce, ...identity }));
    const propose = await peer.next();
    if (propose?.kind !== ControlKind.Propose || !transcript.isProved(propose)) return;
    const { channels, windowChunks, chunkBytes } = propose;
    const settings = { sessionId: SESSION_ID, channels, windowChunks, chunkBytes };
    peer.send(transcript.sign({ kind: ControlKind.Accept, ...settings, addresses: [] }));
    this.#key = transcript.sessionKey();
  }

  #attach(peer: RawPeer, attach: MessageOf<typeof ControlKind.Attach>): void {
    const proof = attachProof(this.#key, 'attached', attach);
    peer.send({ kind: ControlKind.Attached, proof });
    this.attached++;
    peer.socket.removeAllListeners('data');
    peer.socket.on('data', (data) => {
      if (this.#isTrickling) this.#answer(peer.socket, data);
    });
  }

  // The head at once, as one that means well; the payload for ever.
  #answer(socket: Socket, data: Buffer): void {
    const request = new Uint32Array(Uint8Array.from(data.subarray(0, 64)).buffer);
    if ((request[frame.WORD_KIND] ?? 0) % 256 !== frame.FRAME_READ_REQUEST) return;
    const bytes = request[frame.WORD_OPERATION_BYTES] ?? 0;
    const head = new Uint32Array(frame.DATA_HEAD_BYTES / 4);
    head[frame.WORD_KIND] = frame.FRAME_READ_DATA;
    head[frame.WORD_PAYLOAD_BYTES] = bytes;
    head[frame.WORD_SEQUENCE] = request[frame.WORD_SEQUENCE] ?? 0;
    head[frame.WORD_OPERATION_BYTES] = bytes;
    socket.write(Buffer.from(head.buffer));
    this.#timers.push(setInterval(() => socket.write('x'), TRICKLE_MS));
  }
}
