// Sends and fetches metadata: to an address directly, or through the central store. Each call
// settles when its own part is done; there is no acknowledgement in NIXL's protocol, so whether a
// push was accepted shows at the peer (checkRemoteMD there).

import { throwIfAborted, withSignal } from '../base/abort.js';
import {
  checkFlag,
  checkList,
  checkOptions,
  checkPort,
  checkSignal,
  checkText,
} from '../base/argument.js';
import { TcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { MetadataEndpoint } from './metadata-endpoint.js';
import { FULL_LABEL, type MetadataStore } from './metadata-store.js';
import { checkAgentName } from './names.js';
import type { RemotePeers } from './remote-peers.js';

/** With whom metadata is exchanged. */
export interface ExchangeOptions {
  /** An address or host name: the peer's listener. Without it the central store is used. */
  readonly ipAddr?: string;
  /** Port of that listener. */
  readonly port?: number;
  /** Names a piece of partial metadata in the store. */
  readonly metadataLabel?: string;
  /** Ends the wait with an `AbortError`; what was asked for is then not loaded any more. */
  readonly signal?: AbortSignal;
}

export interface ExchangeParts {
  readonly agent: string;
  readonly endpoint: MetadataEndpoint;
  readonly store: MetadataStore | undefined;
  readonly peers: RemotePeers;
  readonly defaultPort: number;
  readonly log: Log;
}

export class MetadataExchange {
  readonly #parts: ExchangeParts;
  #isClosed = false;

  constructor(parts: ExchangeParts) {
    this.#parts = parts;
  }

  async sendFull(blob: Uint8Array, options: ExchangeOptions): Promise<void> {
    await this.#within(options, 'sendLocalMD', () => this.#sendFull(blob, options));
  }

  async sendPartial(blob: Uint8Array, options: ExchangeOptions): Promise<void> {
    await this.#within(options, 'sendLocalPartialMD', () => this.#sendPartial(blob, options));
  }

  /** Loads what `agent` published; metadata under another name is refused. */
  async fetch(agent: string, options: ExchangeOptions): Promise<void> {
    checkAgentName(agent, 'fetchRemoteMD');
    await this.#within(options, 'fetchRemoteMD', () => this.#fetch(agent, options));
  }

  async withdraw(options: ExchangeOptions): Promise<void> {
    await this.#within(options, 'invalidateLocalMD', () => this.#withdraw(options));
  }

  async #within(
    options: ExchangeOptions,
    attempted: string,
    call: () => Promise<void>,
  ): Promise<void> {
    checkExchange(attempted, options);
    if (this.#isClosed) {
      throw new TcpxError('ERR_USAGE_STATE', `${attempted}: agent ${this.#parts.agent} is closed`);
    }
    throwIfAborted(options.signal, attempted);
    await withSignal(call(), options.signal, attempted);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#parts.endpoint.close();
    await this.#parts.store?.close();
  }

  async #sendFull(blob: Uint8Array, options: ExchangeOptions): Promise<void> {
    if (options.ipAddr !== undefined) return this.#push(blob, options.ipAddr, options.port);
    await this.#store('sendLocalMD').publish(FULL_LABEL, blob);
  }

  async #sendPartial(blob: Uint8Array, options: ExchangeOptions): Promise<void> {
    if (options.ipAddr !== undefined) return this.#push(blob, options.ipAddr, options.port);
    const store = this.#store('sendLocalPartialMD');
    if (options.metadataLabel === undefined || options.metadataLabel === '') {
      throw new TcpxError('ERR_USAGE_ARGUMENT', 'sendLocalPartialMD: a store needs metadataLabel');
    }
    await store.publish(options.metadataLabel, blob);
  }

  async #fetch(agent: string, options: ExchangeOptions): Promise<void> {
    const { endpoint, peers, defaultPort } = this.#parts;
    if (options.ipAddr !== undefined) {
      const { blob, origin } = await endpoint.pull(options.ipAddr, options.port ?? defaultPort);
      throwIfAborted(options.signal, 'fetchRemoteMD');
      peers.load(blob, origin, agent);
      return;
    }
    const store = this.#store('fetchRemoteMD');
    const { blob, revision } = await store.fetch(agent, options.metadataLabel ?? FULL_LABEL);
    throwIfAborted(options.signal, 'fetchRemoteMD');
    peers.load(blob, store.origin, agent);
    store.watchPeer(agent, revision, () => this.#onGone(agent, store.origin));
  }

  async #withdraw(options: ExchangeOptions): Promise<void> {
    const { endpoint, agent, defaultPort } = this.#parts;
    if (options.ipAddr !== undefined) {
      await endpoint.invalidate(options.ipAddr, options.port ?? defaultPort, agent);
      return;
    }
    await this.#store('invalidateLocalMD').withdraw();
  }

  async #push(blob: Uint8Array, host: string, port: number | undefined): Promise<void> {
    await this.#parts.endpoint.push(host, port ?? this.#parts.defaultPort, blob);
  }

  #onGone(agent: string, origin: string): void {
    const { peers, log } = this.#parts;
    log.info('peer withdrew its metadata', { agent });
    try {
      peers.invalidate(agent, origin);
    } catch (error) {
      // Gone already, or loaded anew from elsewhere: then this news is not about it.
      log.debug('withdrawn peer kept', { agent, reason: String(error) });
    }
  }

  #store(attempted: string): MetadataStore {
    const { store } = this.#parts;
    if (store !== undefined) return store;
    throw new TcpxError(
      'ERR_USAGE_ARGUMENT',
      `${attempted}: give ipAddr, or set nixl.etcdEndpoints or nixl.tcpStoreEndpoint`,
    );
  }
}

/** Partial metadata is told apart by the same options. */
const EXCHANGE = {
  ...{ ipAddr: checkText, port: checkPort, metadataLabel: checkText, signal: checkSignal },
  ...{ backends: checkList, includeConnInfo: checkFlag },
};

export function checkExchange(attempted: string, options: ExchangeOptions): void {
  checkOptions(attempted, options, EXCHANGE);
}
