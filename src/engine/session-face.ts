// A session as programs hold it: what they may ask and do, and nothing of the engine's own.

import { inspect } from 'node:util';
import { assert } from '../base/assert.js';
import type { TcpxError } from '../base/errors.js';
import type { RegionDescriptor } from '../memory/region.js';
import type { Choice, DataPath, ProviderName } from '../provider/receipt.js';
import type { ThreadPlacement } from '../provider/tcpx/helper-threads.js';
import type { LiveSession } from './live-session.js';
import type {
  Blocks,
  ChannelCounters,
  ConnectWait,
  LookupOptions,
  PostOptions,
  Session,
  TransferRequest,
} from './session.js';
import type { SessionEventMap } from './session-events.js';
import type { SessionState } from './session-state.js';
import type { Transfer } from './transfer.js';

type Listener<E extends keyof SessionEventMap> = (...given: SessionEventMap[E]) => void;

/** What is behind a session that an engine has handed out: for our own tools and tests. */
export let liveSession: (session: Session) => LiveSession;

export class SessionFace implements Session {
  static {
    liveSession = (session) => {
      assert(session instanceof SessionFace, 'a session comes from an engine');
      return session.#live;
    };
  }

  readonly #live: LiveSession;

  constructor(live: LiveSession) {
    this.#live = live;
  }

  get peer(): string {
    return this.#live.peer;
  }

  get peerName(): string {
    return this.#live.facts.peerName;
  }

  get peerAddress(): string {
    return this.#live.facts.where;
  }

  get peerInstance(): string {
    return this.#live.facts.peerInstance;
  }

  get role(): 'server' | 'client' {
    return this.#live.facts.role;
  }

  get channels(): number {
    return this.#live.facts.agreement.channels;
  }

  get chunkBytes(): number {
    return this.#live.facts.agreement.chunkBytes;
  }

  get windowChunks(): number {
    return this.#live.facts.agreement.windowChunks;
  }

  get nics(): readonly string[] {
    return [...this.#live.facts.nics];
  }

  get provider(): ProviderName {
    return this.#live.facts.provider;
  }

  get providerReason(): string {
    return this.#live.facts.providerReason;
  }

  get path(): DataPath {
    return this.#live.facts.path;
  }

  get pathReason(): string {
    return this.#live.facts.pathReason;
  }

  get choices(): readonly Choice[] {
    return this.#live.facts.choices;
  }

  get state(): SessionState {
    return this.#live.state;
  }

  get isReady(): boolean {
    return this.#live.isReady;
  }

  get error(): TcpxError | undefined {
    return this.#live.error;
  }

  get closed(): Promise<void> {
    return this.#live.closed;
  }

  prepare(operation: 'write' | 'read', blocks: Blocks): TransferRequest {
    return this.#live.prepare(operation, blocks);
  }

  write(blocks: Blocks, options?: PostOptions): Transfer {
    return this.#live.write(blocks, options);
  }

  read(blocks: Blocks, options?: PostOptions): Transfer {
    return this.#live.read(blocks, options);
  }

  notify(
    message: Uint8Array | string,
    options?: Pick<PostOptions, 'deadlineMs' | 'signal'>,
  ): Transfer {
    return this.#live.notify(message, options);
  }

  async lookup(name: string, options?: LookupOptions): Promise<RegionDescriptor> {
    return await this.#live.lookup(name, options);
  }

  async reopen(options?: ConnectWait): Promise<Session> {
    const next = await this.#live.reopen(options);
    return next.face;
  }

  on<E extends keyof SessionEventMap>(event: E, listener: Listener<E>): this {
    this.#live.events.on(event, listener);
    return this;
  }

  once<E extends keyof SessionEventMap>(event: E, listener: Listener<E>): this {
    this.#live.events.once(event, listener);
    return this;
  }

  off<E extends keyof SessionEventMap>(event: E, listener: Listener<E>): this {
    this.#live.events.off(event, listener);
    return this;
  }

  kernelCounters(): ChannelCounters[] {
    return this.#live.kernelCounters();
  }

  pluginThreads(): readonly ThreadPlacement[] {
    return this.#live.pluginThreads();
  }

  ref(): this {
    this.#live.ref();
    return this;
  }

  unref(): this {
    this.#live.unref();
    return this;
  }

  async close(): Promise<void> {
    await this.#live.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#live.close();
  }

  /** What a line of a log needs. */
  toJSON(): object {
    const { peer, role, state, channels, provider, path } = this;
    return { peer, role, state, channels, provider, path };
  }

  /** A line: with whom, and how it stands. */
  [inspect.custom](): string {
    const { role, provider, channels, state } = this;
    const shape = `${channels} ${channels === 1 ? 'channel' : 'channels'} over ${provider}`;
    return `Session { ${role} of ${this.peer}, ${state}, ${shape} }`;
  }
}
