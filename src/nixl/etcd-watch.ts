// A watch on one key or prefix that survives the server's restart: it goes on from the revision
// after the last event it saw, so that nothing between is lost. Where the server has forgotten
// those revisions (compaction), the owner is told to look for itself.

import type { Log } from '../base/log.js';
import { type EtcdClient, prefixEnd, toBase64 } from './etcd-client.js';

export interface EtcdEvent {
  readonly kind: 'put' | 'delete';
  readonly key: string;
  /** At which it happened. */
  readonly revision: bigint;
}

export interface EtcdWatchOptions {
  readonly client: EtcdClient;
  readonly key: string;
  readonly isPrefix: boolean;
  readonly fromRevision: bigint;
  readonly isDeletesOnly?: boolean;
  readonly log: Log;
  onEvent(event: EtcdEvent): void;
  /** Events may have been missed. */
  onGap(): void;
}

const RETRY_MS_MIN = 50;
const RETRY_MS_MAX = 1000;

interface WatchLine {
  readonly result?: {
    readonly header?: { readonly revision?: string };
    readonly created?: boolean;
    readonly canceled?: boolean;
    readonly compact_revision?: string;
    readonly events?: readonly {
      readonly type?: string;
      readonly kv?: { readonly key?: string; readonly mod_revision?: string };
    }[];
  };
}

export class EtcdWatch {
  readonly #options: EtcdWatchOptions;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  #nextRevision: bigint;

  constructor(options: EtcdWatchOptions) {
    this.#options = options;
    this.#nextRevision = options.fromRevision;
    this.#ended = this.#run();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  async #run(): Promise<void> {
    let retryMs = RETRY_MS_MIN;
    while (!this.#isStopped()) {
      try {
        await this.#follow();
        retryMs = RETRY_MS_MIN;
      } catch (error) {
        if (this.#isStopped()) return;
        const { key, log } = this.#options;
        log.debug('etcd watch interrupted', { key, reason: String(error) });
      }
      await this.#pause(retryMs);
      retryMs = Math.min(retryMs * 2, RETRY_MS_MAX);
    }
  }

  async #follow(): Promise<void> {
    const { client, key, isPrefix, isDeletesOnly } = this.#options;
    const create = {
      key: toBase64(key),
      ...(isPrefix ? { range_end: toBase64(prefixEnd(key)) } : {}),
      ...(isDeletesOnly === true ? { filters: ['NOPUT'] } : {}),
      start_revision: String(this.#nextRevision),
    };
    const stream = await client.openWatch(create, this.#stop.signal);
    for await (const line of lines(stream, client.answerBytesMax)) {
      if (!this.#take(JSON.parse(line) as WatchLine)) return; // checked: every field optional
    }
  }

  /** False when the server has ended this watch. */
  #take({ result }: WatchLine): boolean {
    const compacted = BigInt(result?.compact_revision ?? 0);
    if (compacted > 0n) {
      this.#nextRevision = compacted;
      this.#options.onGap();
      return false;
    }
    if (result?.canceled === true) return false;
    for (const event of result?.events ?? []) {
      const key = Buffer.from(event.kv?.key ?? '', 'base64').toString();
      const revision = BigInt(event.kv?.mod_revision ?? 0);
      this.#options.onEvent({ kind: event.type === 'DELETE' ? 'delete' : 'put', key, revision });
    }
    // "From now on" becomes a number with the first answer, so that a reconnect misses nothing.
    const isFirst = result?.created === true && this.#nextRevision === 0n;
    if (isFirst || result?.events !== undefined) {
      this.#nextRevision = BigInt(result.header?.revision ?? 0) + 1n;
    }
    return true;
  }

  #pause(pauseMs: number): Promise<void> {
    return new Promise((resolve) => {
      const { signal } = this.#stop;
      const timer = setTimeout(done, pauseMs);
      timer.unref();
      function done(): void {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        resolve();
      }
      signal.addEventListener('abort', done);
      if (signal.aborted) done();
    });
  }
}

async function* lines(
  stream: AsyncIterable<Uint8Array>,
  lineBytesMax: number,
): AsyncGenerator<string> {
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of stream) {
    rest += decoder.decode(chunk, { stream: true });
    if (rest.length > lineBytesMax) {
      throw new Error(`an event is longer than nixl.storeAnswerBytesMax allows, ${lineBytesMax}`);
    }
    const parts = rest.split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) if (part.trim() !== '') yield part;
  }
}
