// A client of the protocol, written from docs/protocol.md alone: it greets, attaches, writes,
// reads, notifies and takes what it is told. Nothing of src/ is imported.

import { createHmac, randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { crc32 } from 'node:zlib';
import {
  bytesOf,
  control,
  fixed,
  type Heard,
  numberIn,
  readControl,
  type Values,
} from './page-frames.js';

export const HEAD = 'Head of a data frame';
export const MATCH_HEAD = 'Head of a match frame';
export const ENTRY = 'Entry of a descriptor table';
export const KIND = {
  WRITE: 1,
  READ_REQUEST: 2,
  READ_DATA: 3,
  NOTIFY: 4,
  ACK: 5,
  REFUSE: 6,
  SIGNAL: 7,
};
export const FEATURE = {
  sharedMemory: 1,
  tcp: 2,
  tcpx: 4,
  tcpxHere: 8,
  secret: 16,
  checks: 32,
  mayShare: 64,
};
export const LABEL = 'nixl-tcpx/2';
const LIMIT_MS = 10_000;

/** A connection, read as its owner asks. */
export class PageConnection {
  readonly socket: Socket;
  #bytes = Buffer.alloc(0);
  isClosed = false;
  #wake: () => void = () => undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (data: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, data]);
      this.#wake();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.isClosed = true;
      this.#wake();
    });
  }

  static async dial(port: number): Promise<PageConnection> {
    const socket = connect(port, '127.0.0.1');
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject);
    });
    return new PageConnection(socket);
  }

  send(bytes: Uint8Array): void {
    this.socket.write(bytes);
  }

  /** What `take` makes of the bytes, once it makes something; undefined at the end. */
  async #next<T>(
    take: (bytes: Buffer) => readonly [T, number] | undefined,
  ): Promise<T | undefined> {
    const endMs = performance.now() + LIMIT_MS;
    for (;;) {
      const taken = take(this.#bytes);
      if (taken !== undefined) {
        this.#bytes = this.#bytes.subarray(taken[1]);
        return taken[0];
      }
      if (this.isClosed) return undefined;
      await this.#change(endMs);
    }
  }

  async #change(endMs: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const late = (): void => reject(new Error('the other end does nothing'));
      const timer = setTimeout(late, Math.max(1, endMs - performance.now()));
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  hear(): Promise<Heard | undefined> {
    return this.#next((bytes) => {
      const heard = readControl(bytes);
      return heard && [heard, heard.bytes.length];
    });
  }

  /** A data frame: its head, and its payload behind the table, if any. */
  frame(): Promise<DataFrame | undefined> {
    return this.#next((bytes) => {
      const headBytes = bytesOf(HEAD);
      if (bytes.length < headBytes) return undefined;
      const head = Buffer.from(bytes.subarray(0, headBytes));
      const tableBytes = numberIn(HEAD, 'tableEntries', head) * bytesOf(ENTRY);
      const end = headBytes + tableBytes + numberIn(HEAD, 'payloadBytes', head);
      if (bytes.length < end) return undefined;
      return [new DataFrame(head, Buffer.from(bytes.subarray(headBytes + tableBytes, end))), end];
    });
  }

  /** A frame of matched transfers: head, then body. */
  matchFrame(): Promise<readonly [Buffer, Buffer] | undefined> {
    return this.#next((bytes) => {
      const headBytes = bytesOf(MATCH_HEAD);
      if (bytes.length < headBytes) return undefined;
      const end = headBytes + numberIn(MATCH_HEAD, 'bodyBytes', bytes);
      if (bytes.length < end) return undefined;
      const parts = [0, headBytes, end];
      const [head, body] = parts.slice(1).map((to, i) => Buffer.from(bytes.subarray(parts[i], to)));
      return [[head ?? Buffer.alloc(0), body ?? Buffer.alloc(0)], end];
    });
  }

  async ended(): Promise<void> {
    await this.#next(() => undefined);
  }
}

export class DataFrame {
  readonly head: Buffer;
  readonly payload: Buffer;

  constructor(head: Buffer, payload: Buffer) {
    this.head = head;
    this.payload = payload;
  }

  get(field: string): number {
    return numberIn(HEAD, field, this.head);
  }
}

export interface PageOptions {
  readonly secret?: string;
  readonly name?: string;
  readonly isChecked?: boolean;
  readonly explicit?: number;
  readonly channels?: number;
  /** Besides those that follow from the rest. */
  readonly features?: number;
}

export interface PageRegion {
  readonly slot: number;
  readonly generation: number;
  readonly key: string;
}

/** A session from ACCEPT on. */
export class PagePeer {
  readonly port: number;
  readonly control: PageConnection;
  readonly #key: Buffer;
  readonly sessionId: number;
  readonly challenge: Heard;
  readonly accept: Heard;
  readonly isChecked: boolean;

  private constructor(
    port: number,
    connection: PageConnection,
    said: readonly [Heard, Heard],
    key: Buffer,
    isChecked: boolean,
  ) {
    this.port = port;
    this.control = connection;
    [this.challenge, this.accept] = said;
    this.#key = key;
    this.sessionId = this.accept.number('sessionId');
    this.isChecked = isChecked;
  }

  /** The greeting; what refuses is thrown as `CODE: reason`. */
  static async open(port: number, options: PageOptions = {}): Promise<PagePeer> {
    const secret = Buffer.from(options.secret ?? '');
    const connection = await PageConnection.dial(port);
    const features =
      FEATURE.tcp |
      (secret.length > 0 ? FEATURE.secret : 0) |
      (options.isChecked === true ? FEATURE.checks : 0) |
      (options.features ?? 0x40000000);
    const hello = control('HELLO', {
      features,
      generation: randomBytes(8),
      nonce: randomBytes(32),
      hostId: randomBytes(16),
      name: options.name ?? 'from the page',
    });
    connection.send(hello);
    const challenge = await expect(connection, 'CHALLENGE');
    const proof = proofOf(secret, 'server', [hello], unproved(challenge));
    if (!proof.equals(challenge.raw('proof'))) throw new Error('the server does not prove itself');
    const wish = {
      explicit: options.explicit ?? 0x80000000,
      channels: options.channels ?? 1,
      windowChunks: 8,
      chunkBytes: 65536,
    };
    const none = Buffer.alloc(32);
    const said = [hello, challenge.bytes];
    const mine = proofOf(secret, 'client', said, control('PROPOSE', { proof: none, ...wish }));
    const propose = control('PROPOSE', { proof: mine, ...wish });
    connection.send(propose);
    const accept = await expect(connection, 'ACCEPT');
    const all = [...said, propose];
    if (!proofOf(secret, 'accept', all, unproved(accept)).equals(accept.raw('proof'))) {
      throw new Error('the server does not prove what it accepts');
    }
    const key = proofOf(secret, 'session', [...all, accept.bytes], Buffer.alloc(0));
    const isChecked = ((features | challenge.number('features')) & FEATURE.checks) !== 0;
    return new PagePeer(port, connection, [challenge, accept], key, isChecked);
  }

  /** A connection of this index, or what it is refused with. */
  async attach(
    index: number,
    epoch: number,
    key = this.#key,
    nonce: Uint8Array = randomBytes(32),
    answerRole = 'attached',
  ): Promise<PageConnection> {
    const connection = await PageConnection.dial(this.port);
    const prove = (role: string): Buffer => this.channelProof(role, index, epoch, nonce, key);
    const { sessionId } = this;
    const name = { sessionId, channelIndex: index, epoch, nonce };
    connection.send(control('ATTACH', { ...name, proof: prove('attach') }));
    const attached = await expect(connection, 'ATTACHED');
    if (!prove(answerRole).equals(attached.raw('proof'))) throw new Error('another server');
    return connection;
  }

  channelProof(
    role: string,
    index: number,
    epoch: number,
    nonce: Uint8Array,
    key = this.#key,
  ): Buffer {
    const words = `${LABEL} ${role} ${this.sessionId} ${index} ${epoch} `;
    return createHmac('sha256', key).update(words).update(nonce).digest();
  }

  /** A data frame, with its checks where the session has them. */
  frame(
    values: Values,
    table: readonly Values[] = [],
    payload: Uint8Array = Buffer.alloc(0),
  ): Buffer {
    return dataFrame(this.isChecked, values, table, payload);
  }

  write(region: PageRegion, sequence: number, offset: number, payload: Uint8Array): Buffer {
    const operationBytes = payload.length;
    const place = { ...regionOf(region), operationBytes, offset };
    return this.frame({ kind: KIND.WRITE, sequence, transfer: 1, ...place }, [], payload);
  }

  read(region: PageRegion, sequence: number, offset: number, bytes: number): Buffer {
    const place = { ...regionOf(region), operationBytes: bytes, offset };
    return this.frame({ kind: KIND.READ_REQUEST, sequence, transfer: 2, ...place });
  }

  notify(sequence: number, message: string): Buffer {
    return this.frame({ kind: KIND.NOTIFY, sequence, transfer: 3 }, [], Buffer.from(message));
  }

  close(): void {
    this.control.socket.destroy();
  }
}

/** With its checks where the session has them. */
export function dataFrame(
  isChecked: boolean,
  values: Values,
  table: readonly Values[] = [],
  payload: Uint8Array = Buffer.alloc(0),
): Buffer {
  const entries = Buffer.concat(table.map((entry) => fixed(ENTRY, entry)));
  const whole: Record<string, Values[string]> = {
    payloadBytes: payload.length,
    tableEntries: table.length,
    ...values,
  };
  if (isChecked) {
    const hasPayload = [KIND.WRITE, KIND.READ_DATA, KIND.NOTIFY, KIND.SIGNAL].includes(
      Number(whole['kind']),
    );
    if (hasPayload) whole['operationBytes'] = crc32(payload);
    if (table.length > 0) whole['offset'] = crc32(entries);
    whole['headCheck'] = crc32(fixed(HEAD, whole));
  }
  return Buffer.concat([fixed(HEAD, whole), entries, payload]);
}

export function regionOf({ slot, generation, key }: PageRegion): Values {
  return { regionSlot: slot, regionGeneration: generation, regionKey: key };
}

export async function expect(connection: PageConnection, name: string): Promise<Heard> {
  const heard = await connection.hear();
  if (heard?.name === 'REFUSE') throw new Error(`${heard.text('code')}: ${heard.text('reason')}`);
  if (heard?.name !== name) throw new Error(`${heard?.name ?? 'the end'} where ${name} is due`);
  return heard;
}

export function proofOf(
  secret: Uint8Array,
  role: string,
  before: readonly Uint8Array[],
  last: Uint8Array,
): Buffer {
  const hmac = createHmac('sha256', secret).update(`${LABEL} ${role}`);
  for (const bytes of before) hmac.update(bytes);
  return hmac.update(last).digest();
}

// The frame with zeros for its proof.
export function unproved(heard: Heard): Buffer {
  const bytes = Buffer.from(heard.bytes);
  const at = bytes.indexOf(heard.raw('proof'));
  return bytes.fill(0, at, at + 32);
}
