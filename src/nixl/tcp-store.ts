// Metadata through a PyTorch TCPStore, with NIXL's key layout (label before agent, unlike etcd).
// The store has no watch: peers are not told when an agent withdraws.

import { sleepMs } from '../base/clock.js';
import { type Endpoint, parseEndpoint } from '../base/endpoint.js';
import { TcpxError, toTcpxError } from '../base/errors.js';
import type { FetchedMetadata, MetadataStore } from './metadata-store.js';
import { checkKeyPart } from './names.js';
import { persistently } from './persistence.js';
import { TcpStoreClient } from './tcp-store-client.js';

export interface TcpStoreOptions {
  /** host:port, or [v6 address]:port. */
  readonly endpoint: string;
  readonly timeoutMs: number;
  readonly opTimeoutMs: number;
  readonly valueBytesMax: number;
}

const POLL_MS = 20;

export class TcpStore implements MetadataStore {
  readonly origin = 'tcpstore';
  readonly #agent: string;
  readonly #options: TcpStoreOptions;
  readonly #client: TcpStoreClient;
  readonly #labels = new Set<string>();

  private constructor(agent: string, options: TcpStoreOptions) {
    this.#agent = agent;
    this.#options = options;
    this.#client = new TcpStoreClient({
      ...addressOf(options.endpoint),
      connectTimeoutMs: options.timeoutMs,
      opTimeoutMs: options.opTimeoutMs,
      valueBytesMax: options.valueBytesMax,
    });
  }

  /** Waits for a store that does not listen yet. */
  static async open(agent: string, options: TcpStoreOptions): Promise<TcpStore> {
    checkKeyPart(agent, 'agent name');
    const store = new TcpStore(agent, options);
    await store.#persistently(() => store.#client.check(keyOf('metadata', agent)));
    return store;
  }

  async publish(label: string, blob: Uint8Array): Promise<void> {
    checkKeyPart(label, 'label');
    const key = keyOf(label, this.#agent);
    this.#labels.add(label);
    // SET has no answer; asking for the key behind it tells that the store has it.
    await this.#persistently(async () => {
      await this.#client.set(key, blob);
      if (await this.#client.check(key)) return;
      throw new TcpxError('ERR_PEER_REFUSED', `publish metadata: TCPStore did not keep ${key}`);
    });
  }

  async fetch(agent: string, label: string): Promise<FetchedMetadata> {
    checkKeyPart(agent, 'agent name');
    checkKeyPart(label, 'label');
    const key = keyOf(label, agent);
    const stopAtMs = performance.now() + this.#options.timeoutMs;
    while (!(await this.#persistently(() => this.#client.check(key)))) {
      if (performance.now() > stopAtMs) {
        throw new TcpxError(
          'ERR_USAGE_NOT_FOUND',
          `fetch metadata: TCPStore has no ${key} after ${this.#options.timeoutMs} ms`,
          { facts: { agent, label } },
        );
      }
      await sleepMs(POLL_MS);
    }
    return { blob: await this.#client.get(key), revision: 0n };
  }

  async withdraw(): Promise<void> {
    for (const label of this.#labels) await this.#client.delete(keyOf(label, this.#agent));
    this.#labels.clear();
  }

  watchPeer(): void {
    // The store cannot tell; see the header.
  }

  close(): Promise<void> {
    this.#client.close();
    return Promise.resolve();
  }

  #persistently<T>(call: () => Promise<T>): Promise<T> {
    return persistently(call, { limitMs: this.#options.timeoutMs, pauseMs: POLL_MS });
  }
}

/** The leading slash is what PyTorch's own clients put before every key. */
function keyOf(label: string, agent: string): string {
  return `/nixl/agents/${label}/${agent}/NULL_AGENT`;
}

function addressOf(endpoint: string): { host: string; port: number } {
  const { host, port } = parsed(endpoint);
  if (port !== undefined && port > 0) return { host, port };
  throw unusable(endpoint, 'its port is missing');
}

function parsed(endpoint: string): Endpoint {
  try {
    return parseEndpoint(endpoint);
  } catch (error) {
    throw unusable(endpoint, toTcpxError(error, 'ERR_CONFIG_VALUE', 'endpoint').message);
  }
}

function unusable(endpoint: string, rule: string): TcpxError {
  return new TcpxError(
    'ERR_CONFIG_VALUE',
    `nixl.tcpStoreEndpoint: ${JSON.stringify(endpoint)} is not host:port: ${rule}`,
  );
}
