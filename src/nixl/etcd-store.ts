// Metadata through etcd, with NIXL's key layout: namespace / agent / label, and an empty anchor at
// namespace / agent / whose deletion tells peers that the agent is gone. Keys hang on a lease, so
// that they die with the agent; NIXL's own agents see the same deletion.

import { isTcpxError, TcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { claimAnchor } from './etcd-claim.js';
import { EtcdClient, type EtcdValue } from './etcd-client.js';
import { EtcdWatch } from './etcd-watch.js';
import type { FetchedMetadata, MetadataStore } from './metadata-store.js';
import { checkKeyPart } from './names.js';
import { persistently } from './persistence.js';

export interface EtcdStoreOptions {
  readonly endpoints: readonly string[];
  readonly namespace: string;
  readonly watchTimeoutMs: number;
  /** 0 leaves keys for ever, as NIXL does. */
  readonly leaseSeconds: number;
  readonly answerBytesMax?: number;
  readonly log: Log;
}

interface WatchedPeer {
  /** Of the metadata that was fetched: an older deletion is not about it. */
  readonly sinceRevision: bigint;
  readonly onGone: () => void;
}

/** A fetch under way; the watch may tell of a withdrawal before the answer from earlier comes. */
interface PendingFetch {
  readonly agent: string;
  goneRevision: bigint;
}

const CALL_TIMEOUT_MS = 5000;
/** How long an operation goes on trying while the server is away. */
const OUTAGE_MS_MAX = 10_000;
const RETRY_MS = 100;

export class EtcdStore implements MetadataStore {
  readonly origin = 'etcd';
  readonly #agent: string;
  readonly #options: EtcdStoreOptions;
  readonly #client: EtcdClient;
  /** What must be there again if the lease was lost: key → value. */
  readonly #published = new Map<string, Uint8Array>();
  readonly #watched = new Map<string, WatchedPeer>();
  readonly #fetches = new Set<PendingFetch>();
  #lease: string | undefined;
  #keepAliveTimer: NodeJS.Timeout | undefined;
  #anchorWatch: EtcdWatch | undefined;
  #isClosed = false;

  private constructor(agent: string, options: EtcdStoreOptions) {
    this.#agent = agent;
    this.#options = options;
    this.#client = new EtcdClient(options.endpoints, CALL_TIMEOUT_MS, options.answerBytesMax);
  }

  static async open(agent: string, options: EtcdStoreOptions): Promise<EtcdStore> {
    checkKeyPart(agent, 'agent name');
    for (const endpoint of options.endpoints) checkEndpoint(endpoint);
    const store = new EtcdStore(agent, options);
    await store.#claim();
    store.#scheduleKeepAlive();
    return store;
  }

  async publish(label: string, blob: Uint8Array): Promise<void> {
    checkKeyPart(label, 'label');
    // After withdraw() the anchor is gone; whoever publishes again is there again.
    if (!this.#published.has(this.#key(this.#agent, ''))) await this.#anchor();
    await this.#put(this.#key(this.#agent, label), blob);
  }

  async fetch(agent: string, label: string): Promise<FetchedMetadata> {
    checkKeyPart(agent, 'agent name');
    checkKeyPart(label, 'label');
    const key = this.#key(agent, label);
    const found = await this.#get(agent, key);
    if (hasValue(found)) return { blob: found.value, revision: found.revision };
    await this.#untilPut(key, found.revision + 1n);
    const later = await this.#get(agent, key);
    if (hasValue(later)) return { blob: later.value, revision: later.revision };
    const { watchTimeoutMs } = this.#options;
    throw new TcpxError(
      'ERR_USAGE_NOT_FOUND',
      `fetch metadata: etcd has no ${key} after ${watchTimeoutMs} ms`,
      { facts: { agent, label } },
    );
  }

  /** Without the value of an agent that has left meanwhile: loaded, it would be evicted twice. */
  async #get(agent: string, key: string): Promise<EtcdValue> {
    const fetch = { agent, goneRevision: 0n };
    this.#fetches.add(fetch);
    try {
      const found = await this.#persistently(() => this.#client.get(key));
      const isGone = fetch.goneRevision > found.revision;
      return isGone ? { value: undefined, revision: found.revision } : found;
    } finally {
      this.#fetches.delete(fetch);
    }
  }

  async withdraw(): Promise<void> {
    // What is there under our name may be another's by now.
    if (this.#lease !== undefined && this.#published.size === 0) return;
    this.#published.clear();
    await this.#persistently(() => this.#client.deletePrefix(this.#key(this.#agent, '')));
  }

  /** One watch over all anchors serves all peers; only deletions are asked for. */
  watchPeer(agent: string, sinceRevision: bigint, onGone: () => void): void {
    if (this.#isClosed) return;
    this.#watched.set(agent, { sinceRevision, onGone });
    // A watch that is there already may have passed the deletion while the fetch was under way.
    if (this.#anchorWatch !== undefined) void this.#recheckPeers([agent]);
    else this.#anchorWatch = this.#watchAnchors(sinceRevision + 1n);
  }

  /** From the revision after the metadata was read: a deletion before the watch stands is seen. */
  #watchAnchors(fromRevision: bigint): EtcdWatch {
    return new EtcdWatch({
      client: this.#client,
      key: `${this.#options.namespace}/`,
      isPrefix: true,
      isDeletesOnly: true,
      fromRevision,
      log: this.#options.log,
      onEvent: (event) => this.#onDelete(event.key, event.revision),
      onGap: () => void this.#recheckPeers([...this.#watched.keys()]),
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#keepAliveTimer);
    await this.#anchorWatch?.close();
    const lease = this.#lease;
    if (lease === undefined) return;
    await this.#client.revokeLease(lease).catch((error: unknown) => {
      this.#options.log.debug('etcd lease not revoked', { reason: String(error) });
    });
  }

  async #claim(): Promise<void> {
    try {
      await this.#anchor();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async #anchor(): Promise<void> {
    if (this.#options.leaseSeconds > 0 && this.#lease === undefined) {
      this.#lease = await this.#persistently(() =>
        this.#client.grantLease(this.#options.leaseSeconds),
      );
    }
    const anchor = this.#key(this.#agent, '');
    const lease = this.#lease;
    // Without a lease nobody can tell whether its holder lives: nothing is claimed.
    if (lease === undefined) await this.#put(anchor, new Uint8Array(0));
    else await this.#persistently(() => claimAnchor(this.#client, anchor, lease));
    this.#published.set(anchor, new Uint8Array(0));
  }

  async #put(key: string, value: Uint8Array): Promise<void> {
    this.#published.set(key, value);
    await this.#persistently(() => this.#client.put(key, value, this.#lease));
  }

  #scheduleKeepAlive(pauseMs = (this.#options.leaseSeconds * 1000) / 3): void {
    if (this.#lease === undefined || this.#isClosed) return;
    this.#keepAliveTimer = setTimeout(() => void this.#keepAlive(), pauseMs);
    this.#keepAliveTimer.unref();
  }

  async #keepAlive(): Promise<void> {
    try {
      const lease = this.#lease;
      if (lease === undefined) return;
      if (!(await this.#client.keepAlive(lease))) await this.#republish();
      this.#scheduleKeepAlive();
    } catch (error) {
      this.#options.log.debug('etcd keep-alive failed', { reason: String(error) });
      this.#scheduleKeepAlive(RETRY_MS * 5);
    }
  }

  /** The server was away, or we stalled, for longer than the lease: its keys are gone. */
  async #republish(): Promise<void> {
    this.#options.log.warn('etcd lease expired, publishing anew', { agent: this.#agent });
    const lease = await this.#client.grantLease(this.#options.leaseSeconds);
    this.#lease = lease;
    if (!(await this.#claimAgain(lease))) return;
    for (const [key, value] of this.#published) await this.#client.put(key, value, this.#lease);
  }

  // While we were away another of our name may have come: its keys are not ours to change.
  async #claimAgain(lease: string): Promise<boolean> {
    const anchor = this.#key(this.#agent, '');
    if (!this.#published.has(anchor)) return true;
    try {
      await claimAnchor(this.#client, anchor, lease);
      return true;
    } catch (error) {
      if (!isTcpxError(error, 'ERR_USAGE_STATE')) throw error;
      this.#options.log.error('etcd: the name of this agent is another’s', {
        agent: this.#agent,
        reason: error.message,
      });
      this.#published.clear();
      return false;
    }
  }

  async #untilPut(key: string, fromRevision: bigint): Promise<void> {
    const { watchTimeoutMs, log } = this.#options;
    let watch: EtcdWatch | undefined;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, watchTimeoutMs);
      watch = new EtcdWatch({
        client: this.#client,
        key,
        isPrefix: false,
        fromRevision,
        log,
        onEvent: (event) => {
          if (event.kind === 'put') resolve();
        },
        onGap: resolve,
      });
    });
    clearTimeout(timer);
    await watch?.close();
  }

  #onDelete(key: string, revision: bigint): void {
    for (const fetch of this.#fetches) {
      if (key === this.#key(fetch.agent, '')) fetch.goneRevision = revision;
    }
    for (const [agent, { sinceRevision, onGone }] of this.#watched) {
      // It may have come back since, and been fetched anew.
      if (key !== this.#key(agent, '') || revision <= sinceRevision) continue;
      this.#watched.delete(agent);
      onGone();
    }
  }

  async #recheckPeers(agents: readonly string[]): Promise<void> {
    for (const agent of agents) {
      const key = this.#key(agent, '');
      try {
        const { value, revision } = await this.#persistently(() => this.#client.get(key));
        if (value === undefined) this.#onDelete(key, revision);
      } catch (error) {
        this.#options.log.warn('etcd peer not checked', { agent, reason: String(error) });
      }
    }
  }

  #persistently<T>(call: () => Promise<T>): Promise<T> {
    const isOver = () => this.#isClosed;
    return persistently(call, { limitMs: OUTAGE_MS_MAX, pauseMs: RETRY_MS, isOver });
  }

  /** NIXL's default namespace ends in a slash, so its keys have two: kept, for they must match. */
  #key(agent: string, label: string): string {
    return `${this.#options.namespace}/${agent}/${label}`;
  }
}

function hasValue(found: EtcdValue): found is EtcdValue & { readonly value: Buffer } {
  return found.value !== undefined && found.value.length > 0;
}

function checkEndpoint(endpoint: string): void {
  const isUsable = URL.canParse(endpoint) && /^https?:$/.test(new URL(endpoint).protocol);
  if (isUsable) return;
  throw new TcpxError(
    'ERR_CONFIG_VALUE',
    `nixl.etcdEndpoints: ${JSON.stringify(endpoint)} is not an http or https URL`,
  );
}
