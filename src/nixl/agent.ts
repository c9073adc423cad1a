// The NIXL agent: NIXL's verbs over whatever backends it is given. Verbs of the data path
// (postXferReq, getXferStatus, releaseXferReq, checkRemoteMD) return NIXL's numbers; the others
// throw a TcpxError, whose number nixlStatusOf() tells.

import { inspect } from 'node:util';
import { openWithSignal } from '../base/abort.js';
import { checkBytes, checkMessage, checkOptions, type TimedWait } from '../base/argument.js';
import { loadConfig, processEnvironment } from '../base/config.js';
import { TcpxError } from '../base/errors.js';
import { allocateRegionMemory, type PageKind, type RegionMemory } from '../os/region-memory.js';
import { CHOICE, CHOICE_AND_WAIT, checkAgentOptions, TAG, WAIT } from './agent-arguments.js';
import type {
  BackendChoice,
  BackendDescription,
  ConnectionChoice,
  TagOptions,
  WaitOptions,
} from './agent-choice.js';
import { openExchange } from './agent-exchange.js';
import {
  type AgentOptions,
  type AgentParts,
  assembleAgent,
  describeAgent,
  type OwnMetadataOptions,
  ownMetadata,
} from './agent-parts.js';
import type { BackendParams, XferCost } from './backend.js';
import type { BackendHandle } from './backend-handle.js';
import { bytesOf, type RegDlist } from './descriptors.js';
import type { MemView, RemoteDlist } from './mem-views.js';
import type { XferOpInput } from './memory-type.js';
import { checkExchange, type ExchangeOptions, type MetadataExchange } from './metadata-exchange.js';
import { checkAgentName } from './names.js';
import type { NotifMap } from './notifier.js';
import { connectToPeer } from './peer-connection.js';
import { PreparedDlist, resolvedDlist } from './prepared-dlist.js';
import { APPLICATION_ORIGIN } from './remote-peers.js';
import { NixlStatus, type XferState, xferStateOf } from './status.js';
import type { TelemetrySnapshot, XferTelemetry } from './telemetry.js';
import { checkDlist, type XferDlistInput } from './xfer-dlist.js';
import type { XferOptions } from './xfer-factory.js';
import { liveRequest, type XferRequest } from './xfer-request.js';
import type { PostOptions, XferControl } from './xfer-runner.js';

/**
 * NIXL's agent with NIXL's verbs: backends, memory, metadata, transfers, notifications.
 * @example
 * const agent = await Agent.create('decode-0');
 * await agent.createBackend('TCPX');
 * await agent.registerMem({ memType: MemType.DRAM, descs: [describeMemory(buffer)] });
 */
export class Agent {
  /** Its name among its peers. */
  readonly name: string;
  readonly #parts: AgentParts;
  readonly #exchange: MetadataExchange;
  #isClosed = false;

  private constructor(name: string, parts: AgentParts, exchange: MetadataExchange) {
    this.name = name;
    this.#parts = parts;
    this.#exchange = exchange;
  }

  /** C++ `nixlAgent(name, config)`. Rejects on a bad name, a taken port or an unusable store. */
  static async create(name: string, options: AgentOptions = {}): Promise<Agent> {
    checkAgentName(name, 'create agent');
    checkAgentOptions(options);
    return openWithSignal('create agent', options.signal, () => Agent.#open(name, options));
  }

  static async #open(name: string, options: AgentOptions): Promise<Agent> {
    const sources = { options: options.settings ?? {}, environment: processEnvironment() };
    const settings = loadConfig(sources).values;
    const parts = assembleAgent(name, options, settings);
    const isListening = options.useListenThread === true;
    return new Agent(name, parts, await openExchange(parts, settings, isListening));
  }

  /** Names of backends that can be created. */
  getAvailPlugins(): string[] {
    return this.#parts.plugins.getAvailPlugins();
  }

  /** Memory types and parameters of a backend, with defaults. */
  async getPluginParams(type: string): Promise<BackendDescription> {
    const plugin = await this.#parts.plugins.get(type);
    return { memTypes: plugin.memTypes, params: plugin.defaultParams };
  }

  /** Starts a backend; `params` are texts, as in NIXL. */
  async createBackend(
    type: string,
    params: BackendParams = {},
    options: WaitOptions = {},
  ): Promise<BackendHandle> {
    checkOptions('createBackend', options, WAIT);
    const handle = await this.#parts.backends.create(type, params, options.signal);
    handle.backend.onActivity?.(this.#parts.bell.ring);
    return handle.handle;
  }

  /** Memory types and parameters of a backend that was created. */
  getBackendParams(handle: BackendHandle): BackendDescription {
    this.#parts.backends.select([handle]);
    return { memTypes: handle.memTypes, params: handle.params };
  }

  /**
   * Page-aligned host memory, from the first backend that has some of its own: through TCPX's
   * plugin go this memory and that of GPUs, other memory goes over tcp. Not in NIXL. Register it as
   * any other.
   */
  allocateMem(
    byteCount: number,
    pages: PageKind = 'auto',
    choice: BackendChoice = {},
  ): RegionMemory {
    checkOptions('allocateMem', choice, CHOICE);
    for (const { backend } of this.#parts.backends.select(choice.backends)) {
      if (backend.allocateMem !== undefined) return backend.allocateMem(byteCount, pages);
    }
    return allocateRegionMemory(byteCount, pages);
  }

  /** Registers every range with the backends that can take it, or with those chosen. */
  async registerMem(list: RegDlist, choice: BackendChoice & WaitOptions = {}): Promise<void> {
    checkOptions('registerMem', choice, CHOICE_AND_WAIT);
    const { backends, sections } = this.#parts;
    const takers = backends.select(choice.backends);
    await sections.register(list, takers, takers !== backends.all(), choice.signal);
    this.#parts.telemetry.onRegistered(bytesOf(list));
  }

  /** Takes ranges back, as they were registered; waits for transfers that use them. */
  async deregisterMem(list: RegDlist, choice: BackendChoice & WaitOptions = {}): Promise<void> {
    checkOptions('deregisterMem', choice, CHOICE_AND_WAIT);
    const { backends, sections } = this.#parts;
    await sections.deregister(list, backends.select(choice.backends), choice.signal);
    this.#parts.telemetry.onDeregistered(bytesOf(list));
  }

  /** What one backend says of each range. `ERR_USAGE_NOT_SUPPORTED` where it says nothing: TCPX. */
  async queryMem(
    list: RegDlist,
    choice: BackendChoice,
  ): Promise<readonly (BackendParams | undefined)[]> {
    checkOptions('queryMem', choice, CHOICE);
    return this.#parts.backends.queryMem(list, choice.backends);
  }

  /**
   * A view for code on a device: of own memory, or of that of several agents. Refused with
   * `ERR_USAGE_NOT_SUPPORTED` where the backend that covers it has none, as TCPX.
   */
  prepMemView(list: XferDlistInput | RemoteDlist, choice: BackendChoice = {}): MemView {
    checkOptions('prepMemView', choice, CHOICE);
    return this.#parts.views.prepare(list, choice.backends);
  }

  /** Takes a view back; one that is unknown is a warning in the log. */
  releaseMemView(view: MemView): void {
    this.#parts.views.release(view);
  }

  /** Metadata of this agent, to be given to its peers. */
  getLocalMD(): Uint8Array {
    return ownMetadata(this.#parts, 'getLocalMD');
  }

  /** An empty list gives connection info alone; otherwise those registrations. */
  getLocalPartialMD(list: RegDlist, options: OwnMetadataOptions = {}): Uint8Array {
    checkDlist('getLocalPartialMD', list);
    return ownMetadata(this.#parts, 'getLocalPartialMD', list, options);
  }

  /** Returns the name of the agent whose metadata it was. */
  loadRemoteMD(blob: Uint8Array): string {
    checkBytes('loadRemoteMD: the metadata', blob);
    return this.#parts.peers.load(blob, APPLICATION_ORIGIN);
  }

  /** Forgets a peer: its sessions end, its transfers fail. */
  invalidateRemoteMD(agent: string): void {
    checkAgentName(agent, 'invalidateRemoteMD');
    this.#parts.peers.invalidate(agent, APPLICATION_ORIGIN);
  }

  /** SUCCESS if the agent is known and, where a list is given, covers it; else NOT_FOUND. */
  checkRemoteMD(agent: string, list?: XferDlistInput): NixlStatus {
    const isKnown = this.#parts.factory.isCovered(agent, list);
    return isKnown ? NixlStatus.SUCCESS : NixlStatus.ERR_NOT_FOUND;
  }

  /** Sends own metadata to a peer's listener, or to the store. */
  async sendLocalMD(options: ExchangeOptions = {}): Promise<void> {
    await this.#exchange.sendFull(this.getLocalMD(), options);
  }

  /** Sends metadata of some ranges alone. */
  async sendLocalPartialMD(
    list: RegDlist,
    options: ExchangeOptions & OwnMetadataOptions = {},
  ): Promise<void> {
    checkExchange('sendLocalPartialMD', options);
    const { backends = [], includeConnInfo = false } = options;
    const blob = this.getLocalPartialMD(list, { backends, includeConnInfo });
    await this.#exchange.sendPartial(blob, options);
  }

  /** Resolves when the metadata is loaded. */
  async fetchRemoteMD(agent: string, options: ExchangeOptions = {}): Promise<void> {
    await this.#exchange.fetch(agent, options);
  }

  /** Takes own metadata back from a peer's listener, or from the store. */
  async invalidateLocalMD(options: ExchangeOptions = {}): Promise<void> {
    await this.#exchange.withdraw(options);
  }

  /** The listener's port, for agents that let the kernel choose. */
  get listenPort(): number | undefined {
    return this.#parts.endpoint.port;
  }

  /**
   * Optional: transfers connect by themselves. A program that polls without ever returning to the
   * event loop awaits this first.
   */
  async makeConnection(agent: string, choice: ConnectionChoice = {}): Promise<void> {
    await connectToPeer(this.#parts, agent, choice);
  }

  /** Checks a list once, so that many requests can be made from it. */
  prepXferDlist(agent: string, list: XferDlistInput, choice: BackendChoice = {}): PreparedDlist {
    return new PreparedDlist(this.#parts.factory.prepare(agent, list, choice));
  }

  /** C++ spells it so. */
  releasedDlistH(list: PreparedDlist): void {
    resolvedDlist('releasedDlistH: the list', list).isReleased = true;
  }

  /** Pairs `localIndices[i]` with `remoteIndices[i]`; neighbours are merged unless told not to. */
  makeXferReq(
    op: XferOpInput,
    local: PreparedDlist,
    localIndices: ArrayLike<number>,
    remote: PreparedDlist,
    remoteIndices: ArrayLike<number>,
    options: XferOptions = {},
  ): XferRequest {
    const { factory, runner } = this.#parts;
    const here = resolvedDlist('makeXferReq: the local list', local);
    const there = resolvedDlist('makeXferReq: the remote list', remote);
    return runner.adopt(factory.make(op, here, localIndices, there, remoteIndices, options));
  }

  /** One step, without merging. */
  createXferReq(
    op: XferOpInput,
    local: XferDlistInput,
    remote: XferDlistInput,
    agent: string,
    options: XferOptions = {},
  ): XferRequest {
    const { factory, runner } = this.#parts;
    return runner.adopt(factory.create(op, local, remote, agent, options));
  }

  /** Note NIXL's rule: options without `notif` switch the notification off, now and later. */
  postXferReq(request: XferRequest, options?: PostOptions, control?: XferControl): NixlStatus {
    return this.#parts.runner.post(liveRequest('postXferReq', request), options, control);
  }

  /**
   * As `postXferReq`, in the words of NIXL's Python API. Without `notif` the last message is sent
   * again; with one it replaces that.
   * @example
   * let state = agent.transfer(request, 'layer 3');
   * while (state === 'PROC') {
   *   await new Promise(setImmediate);
   *   state = agent.checkXferState(request);
   * }
   * if (state === 'ERR') throw request.error;
   */
  transfer(request: XferRequest, notif?: Uint8Array | string): XferState {
    return xferStateOf(this.postXferReq(request, notif === undefined ? undefined : { notif }));
  }

  /** As `getXferStatus`, in words: `DONE`, `PROC`, or `ERR`; then `request.error` says why. */
  checkXferState(request: XferRequest): XferState {
    return xferStateOf(this.getXferStatus(request));
  }

  /** How far a request is; polling it moves it where the caller drives. */
  getXferStatus(request: XferRequest): NixlStatus {
    return this.#parts.runner.status(liveRequest('getXferStatus', request));
  }

  /** Resolves when landed; rejects with why not. Abort and deadline stop the transfer itself. */
  async waitXferReq(request: XferRequest, control?: XferControl): Promise<void> {
    await this.#parts.runner.wait(liveRequest('waitXferReq', request), control);
  }

  /** Gives a request back; one in flight is cancelled. */
  releaseXferReq(request: XferRequest): NixlStatus {
    return this.#parts.runner.release(liveRequest('releaseXferReq', request));
  }

  /** Releases a request, waiting until no byte of it moves any more. */
  async cancelXferReq(request: XferRequest, options: WaitOptions = {}): Promise<void> {
    checkOptions('cancelXferReq', options, WAIT);
    await this.#parts.runner.cancel(liveRequest('cancelXferReq', request), options.signal);
  }

  /** How long a request will take, as its backend reckons. */
  estimateXferCost(request: XferRequest): XferCost {
    return liveRequest('estimateXferCost', request).estimateCost();
  }

  /** The backend that was chosen for a request. */
  queryXferBackend(request: XferRequest): BackendHandle {
    return liveRequest('queryXferBackend', request).backend.handle;
  }

  /** Times and sizes of a request. Throws `ERR_USAGE_NO_TELEMETRY` where it is off. */
  getXferTelemetry(request: XferRequest): XferTelemetry {
    const { status, telemetry, error } = liveRequest('getXferTelemetry', request);
    this.#parts.telemetry.assertEnabled('getXferTelemetry');
    if (status === NixlStatus.SUCCESS) return telemetry;
    throw error ?? new TcpxError('ERR_USAGE_STATE', 'getXferTelemetry: not completed');
  }

  /** Counters since the agent was created, under NIXL's event names. */
  getTelemetry(): TelemetrySnapshot {
    this.#parts.telemetry.assertEnabled('getTelemetry');
    return this.#parts.telemetry.snapshot();
  }

  /** Sends a message to a peer, by itself. */
  genNotif(agent: string, message: Uint8Array | string, choice: BackendChoice = {}): void {
    this.#parts.notifier.send(agent, message, choice);
  }

  /** Appends to `into` what has arrived: sender → messages. */
  getNotifs(into: NotifMap = new Map(), choice: BackendChoice = {}): NotifMap {
    return this.#parts.notifier.collect(into, choice);
  }

  /**
   * Collects what has arrived to what was kept before; all of that, also for the caller to remove
   * from. `getNotifs` and `waitNotifs` give new ones alone and keep none.
   */
  updateNotifs(choice: BackendChoice = {}): NotifMap {
    const { notifier, unread } = this.#parts;
    return unread.add(notifier.collect(new Map(), choice));
  }

  /**
   * Whether a message with this tag has come from the agent; that one is taken, all others are kept
   * for later questions. Beyond `nixl.inboxBytesMax` the busiest sender loses its oldest.
   */
  checkRemoteXferDone(agent: string, tag: Uint8Array | string, options: TagOptions = {}): boolean {
    checkAgentName(agent, 'checkRemoteXferDone');
    checkMessage('checkRemoteXferDone: the tag', tag);
    checkOptions('checkRemoteXferDone', options, TAG);
    this.updateNotifs(options.backends === undefined ? {} : { backends: options.backends });
    const bytes = typeof tag === 'string' ? Buffer.from(tag) : tag;
    return this.#parts.unread.take(agent, bytes, options.tagIsPrefix ?? true);
  }

  /** The next notifications; an empty map when none came in time. `AbortError` by the signal. */
  async waitNotifs(options: number | TimedWait): Promise<NotifMap> {
    return this.#parts.notifier.wait(options);
  }

  /** As `close`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** A line: its name, its backends, how many peers it knows. Never a parameter. */
  [inspect.custom](): string {
    return describeAgent(this.name, this.#parts);
  }

  /** Stops the exchange, cancels what runs, gives memory back, forgets peers, ends backends. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#exchange.close();
    await this.#parts.runner.cancelAll();
    await this.#parts.sections.clear();
    await this.#parts.peers.clear();
    await this.#parts.backends.closeAll();
  }
}
