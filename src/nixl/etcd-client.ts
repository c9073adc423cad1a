// etcd's v3 API through its HTTP/JSON gateway. One method per call; no state but which endpoint
// answered last. Keys and values travel as base64, numbers as decimal text.

import { TcpxError, toTcpxError } from '../base/errors.js';
import { SETTINGS } from '../base/settings.js';

export interface EtcdValue {
  readonly value: Buffer | undefined;
  /** Of the whole store at the time of the answer; watches continue from here. */
  readonly revision: bigint;
}

type Json = Readonly<Record<string, unknown>>;

interface CallLimits {
  readonly timeoutMs: number;
  readonly answerBytesMax: number;
}

export class EtcdClient {
  readonly #endpoints: readonly string[];
  readonly #limits: CallLimits;
  #preferred = 0;

  constructor(
    endpoints: readonly string[],
    timeoutMs: number,
    answerBytesMax: number = SETTINGS['nixl.storeAnswerBytesMax'].fallback,
  ) {
    this.#endpoints = endpoints;
    this.#limits = { timeoutMs, answerBytesMax };
  }

  /** Of one answer, and of one event of a watch. */
  get answerBytesMax(): number {
    return this.#limits.answerBytesMax;
  }

  async put(key: string, value: Uint8Array, lease: string | undefined): Promise<void> {
    const request = { key: toBase64(key), value: toBase64(value) };
    await this.#call('kv/put', lease === undefined ? request : { ...request, lease });
  }

  async get(key: string): Promise<EtcdValue> {
    const answer = await this.#call('kv/range', { key: toBase64(key) });
    const [first] = entriesOf(answer, 'kvs');
    const revision = revisionOf(answer);
    if (first === undefined) return { value: undefined, revision };
    // An empty value has no field of its own.
    return { value: Buffer.from(textOf(first, 'value') ?? '', 'base64'), revision };
  }

  async keys(prefix: string): Promise<string[]> {
    const range = { key: toBase64(prefix), range_end: toBase64(prefixEnd(prefix)) };
    const answer = await this.#call('kv/range', { ...range, keys_only: true });
    return entriesOf(answer, 'kvs').map((kv) =>
      Buffer.from(textOf(kv, 'key') ?? '', 'base64').toString(),
    );
  }

  async deletePrefix(prefix: string): Promise<void> {
    await this.#call('kv/deleterange', {
      key: toBase64(prefix),
      range_end: toBase64(prefixEnd(prefix)),
    });
  }

  async grantLease(ttlSeconds: number): Promise<string> {
    const answer = await this.#call('lease/grant', { TTL: String(ttlSeconds) });
    const id = textOf(answer, 'ID');
    if (id === undefined) throw malformed('lease/grant', 'no ID');
    return id;
  }

  /** An empty value under the lease, unless the key is there: whether it was put. */
  async putIfAbsent(key: string, lease: string): Promise<boolean> {
    const name = toBase64(key);
    const answer = await this.#call('kv/txn', {
      compare: [{ key: name, target: 'CREATE', result: 'EQUAL', create_revision: '0' }],
      success: [{ request_put: { key: name, value: '', lease } }],
    });
    return answer['succeeded'] === true;
  }

  /** The lease that a key hangs on; `0` where on none, undefined where there is no key. */
  async leaseOf(key: string): Promise<string | undefined> {
    const answer = await this.#call('kv/range', { key: toBase64(key), keys_only: true });
    const [first] = entriesOf(answer, 'kvs');
    return first === undefined ? undefined : (textOf(first, 'lease') ?? '0');
  }

  /** What is left of a lease; less than 0 where it is over. */
  async leaseLeft(lease: string): Promise<{ readonly seconds: number; readonly granted: number }> {
    const answer = await this.#call('lease/timetolive', { ID: lease });
    return {
      seconds: Number(textOf(answer, 'TTL') ?? '0'),
      granted: Number(textOf(answer, 'grantedTTL') ?? '0'),
    };
  }

  /** False when the lease has expired and its keys are gone. */
  async keepAlive(lease: string): Promise<boolean> {
    const answer = await this.#call('lease/keepalive', { ID: lease });
    const ttl = textOf(objectOf(answer['result']) ?? {}, 'TTL');
    return ttl !== undefined && Number(ttl) > 0;
  }

  async revokeLease(lease: string): Promise<void> {
    await this.#call('lease/revoke', { ID: lease });
  }

  /** The raw stream of a watch: one JSON document per line, until it ends or `signal` fires. */
  async openWatch(create: Json, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const endpoint = this.#endpoints[this.#preferred] ?? '';
    const response = await post(endpoint, 'watch', { create_request: create }, signal);
    if (!response.ok || response.body === null) {
      this.#nextEndpoint();
      throw await refusedBy(endpoint, 'watch', response);
    }
    return response.body as AsyncIterable<Uint8Array>;
  }

  /** Tries each endpoint once, beginning with the one that answered last. */
  async #call(path: string, request: Json): Promise<Json> {
    let failure: TcpxError | undefined;
    for (let attempt = 0; attempt < this.#endpoints.length; attempt++) {
      const endpoint = this.#endpoints[this.#preferred] ?? '';
      try {
        return await callOnce(endpoint, path, request, this.#limits);
      } catch (error) {
        failure = toTcpxError(error, 'ERR_PEER_UNREACHABLE', `etcd ${path} at ${endpoint}`);
        if (!failure.isRetryable) throw failure;
        this.#nextEndpoint();
      }
    }
    throw failure ?? new TcpxError('ERR_CONFIG_VALUE', 'etcd: no endpoint is named');
  }

  #nextEndpoint(): void {
    this.#preferred = (this.#preferred + 1) % this.#endpoints.length;
  }
}

async function callOnce(endpoint: string, path: string, request: Json, limits: CallLimits) {
  const { timeoutMs, answerBytesMax } = limits;
  let response: Response;
  let body: string;
  try {
    response = await post(endpoint, path, request, AbortSignal.timeout(timeoutMs));
    if (!response.ok) throw await refusedBy(endpoint, path, response);
    body = await boundedText(response, path, answerBytesMax);
  } catch (error) {
    if (error instanceof TcpxError) throw error;
    const isLate = error instanceof Error && error.name === 'TimeoutError';
    const reason = isLate ? `no answer within ${timeoutMs} ms` : reasonOf(error);
    const code = isLate ? 'ERR_PEER_TIMEOUT' : 'ERR_PEER_UNREACHABLE';
    throw new TcpxError(code, `etcd ${path} at ${endpoint}: ${reason}`, { cause: error });
  }
  return parseEtcdAnswer(path, body);
}

/** An answer is an object; whoever reads a field checks that. */
export function parseEtcdAnswer(path: string, body: string): Json {
  let value: unknown;
  try {
    value = JSON.parse(body); // checked: below, and field by field
  } catch (error) {
    throw malformed(path, `a body that is not JSON (${String(error)})`);
  }
  const answer = objectOf(value);
  if (answer === undefined) throw malformed(path, 'a body that is not an object');
  return answer;
}

// fetch would take as much as the server sends.
async function boundedText(response: Response, path: string, bytesMax: number) {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += piece.length;
    if (bytes > bytesMax)
      throw malformed(path, `over ${bytesMax} bytes, nixl.storeAnswerBytesMax allows no more`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

function post(endpoint: string, path: string, request: Json, signal: AbortSignal) {
  return fetch(`${endpoint}/v3/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request),
    signal,
  });
}

/** A server that is starting, stopping or without a leader says 5xx: worth another try. */
async function refusedBy(endpoint: string, path: string, response: Response): Promise<TcpxError> {
  const text = (await response.text().catch(() => '')).slice(0, 200).trim();
  const code = response.status >= 500 ? 'ERR_PEER_UNREACHABLE' : 'ERR_PEER_REFUSED';
  return new TcpxError(code, `etcd ${path} at ${endpoint}: HTTP ${response.status} ${text}`);
}

function malformed(path: string, rule: string): TcpxError {
  return new TcpxError('ERR_WIRE_FRAME', `etcd ${path}: the answer has ${rule}`);
}

/** fetch says only "fetch failed"; the cause says why. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof Error && cause.message !== '') return cause.message;
  const code = (cause as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : String(error);
}

function revisionOf(answer: Json): bigint {
  const text = textOf(objectOf(answer['header']) ?? {}, 'revision');
  return /^\d+$/.test(text ?? '') ? BigInt(text ?? '') : 0n;
}

function objectOf(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null ? (value as Json) : undefined;
}

/** The objects in a list; what is none is passed over. */
function entriesOf(answer: Json, name: string): Json[] {
  const list = answer[name];
  if (!Array.isArray(list)) return [];
  return list.map(objectOf).filter((entry) => entry !== undefined);
}

function textOf(json: Json, name: string): string | undefined {
  const value = json[name];
  return typeof value === 'string' ? value : undefined;
}

export function toBase64(value: string | Uint8Array): string {
  return Buffer.from(value as Uint8Array).toString('base64');
}

/** The first key after all keys with this prefix. */
export function prefixEnd(prefix: string): Buffer {
  const end = Buffer.from(prefix);
  for (let index = end.length - 1; index >= 0; index--) {
    const byte = end[index] ?? 0xff;
    if (byte < 0xff) {
      end[index] = byte + 1;
      return end.subarray(0, index + 1);
    }
  }
  return Buffer.from([0]);
}
