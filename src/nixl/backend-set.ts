// The backends of one agent, in the order of their creation, which is also the order of preference.

import { throwIfAborted, withSignal } from '../base/abort.js';
import { checkList, checkRecord, wrongArgument } from '../base/argument.js';
import { assert } from '../base/assert.js';
import { TcpxError, toTcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { hideProperties } from '../base/secret-bytes.js';
import { type Backend, type BackendParams, type BackendPlugin, missingMethods } from './backend.js';
import type { BackendHandle } from './backend-handle.js';
import type { RegDlist } from './descriptors.js';
import { type MemType, memTypeName } from './memory-type.js';
import { checkBackendType } from './names.js';
import type { PluginManager } from './plugin-manager.js';
import { checkDlist } from './xfer-dlist.js';

/** Names of parameters, of TCPX and of other backends, whose values are nobody's business. */
const MAYBE_SECRET = /secret|token|password|credential|key/i;

/** A backend as its agent has it. */
export interface OpenBackend extends BackendHandle {
  /** What programs are given in its place. */
  readonly handle: BackendHandle;
  /** The backend itself. */
  readonly backend: Backend;
  /** Taken once, at creation; undefined where the backend does not reach other agents. */
  readonly connInfo: Uint8Array | undefined;
}

const BEHIND = new WeakMap<BackendHandle, OpenBackend>();

/** What is behind a handle: for our own tools and tests. */
export function openBackendOf(handle: BackendHandle): OpenBackend {
  const open = BEHIND.get(handle);
  assert(open !== undefined, 'a handle comes from an agent');
  return open;
}

export class BackendSet {
  readonly #handles: OpenBackend[] = [];
  readonly #creating = new Set<string>();
  #isClosed = false;
  readonly #agent: string;
  readonly #plugins: PluginManager;
  readonly #log: Log;

  constructor(agent: string, plugins: PluginManager, log: Log) {
    this.#agent = agent;
    this.#plugins = plugins;
    this.#log = log;
  }

  all(): readonly OpenBackend[] {
    return this.#handles;
  }

  get(type: string): OpenBackend | undefined {
    return this.#handles.find((handle) => handle.type === type);
  }

  /** The named backends, or all; a handle of another agent is refused. */
  select(hint: readonly BackendHandle[] | undefined): readonly OpenBackend[] {
    this.#assertOpen();
    if (hint === undefined) return this.#handles;
    checkList('backends', hint);
    if (hint.length === 0) return this.#handles;
    return hint.map((named) => {
      const open = this.#handles.find(({ handle }) => handle === named);
      if (open !== undefined) return open;
      throw wrongArgument('backends', `handles from createBackend of ${this.#agent}`, named);
    });
  }

  async create(type: string, params: BackendParams, signal?: AbortSignal): Promise<OpenBackend> {
    checkBackendType(type, 'createBackend');
    checkParams(params);
    this.#assertOpen();
    if (this.get(type) !== undefined || this.#creating.has(type)) {
      throw new TcpxError('ERR_USAGE_ARGUMENT', `createBackend: ${type} exists already`);
    }
    const attempted = `createBackend ${type}`;
    throwIfAborted(signal, attempted);
    return await withSignal(this.#create(type, params, attempted, signal), signal, attempted);
  }

  async #create(
    type: string,
    params: BackendParams,
    attempted: string,
    signal: AbortSignal | undefined,
  ): Promise<OpenBackend> {
    this.#creating.add(type);
    try {
      const plugin = await this.#plugins.get(type);
      const handle = await this.#open(type, plugin, { ...plugin.defaultParams, ...params });
      // Nobody waits for it any more.
      if (signal?.aborted === true || this.#isClosed) {
        await closeQuietly(handle.backend, type, this.#log);
      }
      throwIfAborted(signal, attempted);
      this.#assertOpen();
      this.#handles.push(handle);
      return handle;
    } finally {
      this.#creating.delete(type);
    }
  }

  /** Asks exactly one, as NIXL does. */
  async queryMem(list: RegDlist, hint: readonly BackendHandle[] = []) {
    checkDlist('queryMem', list);
    checkList('queryMem: backends', hint);
    if (hint.length !== 1) {
      throw new TcpxError('ERR_USAGE_ARGUMENT', 'queryMem: exactly one backend is asked');
    }
    const [handle] = this.select(hint);
    assert(handle !== undefined, 'as many as were named');
    const answer = await handle.backend.queryMem?.(list);
    if (answer !== undefined) return answer;
    throw new TcpxError('ERR_USAGE_NOT_SUPPORTED', `queryMem: ${handle.type} cannot be asked`);
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new TcpxError('ERR_USAGE_STATE', `agent ${this.#agent} is closed`);
  }

  async closeAll(): Promise<void> {
    this.#isClosed = true;
    for (const handle of this.#handles.splice(0).toReversed()) {
      await closeQuietly(handle.backend, handle.type, this.#log);
    }
  }

  async #open(type: string, plugin: BackendPlugin, params: BackendParams): Promise<OpenBackend> {
    let backend: Backend;
    try {
      const init = { localAgent: this.#agent, type, params, log: this.#log };
      backend = await plugin.create(init);
    } catch (error) {
      throw toTcpxError(error, 'ERR_CAP_BACKEND', `createBackend ${type}`);
    }
    try {
      const connInfo = checkCapabilities(type, backend);
      if (backend.supportsLocal) await backend.connect(this.#agent);
      const memTypes = [...backend.getSupportedMems()];
      const handle = Object.freeze({ type, params: unprinted(params), memTypes });
      const open = { ...handle, handle, backend, connInfo };
      BEHIND.set(handle, open);
      return open;
    } catch (error) {
      await closeQuietly(backend, type, this.#log);
      throw toTcpxError(error, 'ERR_CAP_BACKEND', `createBackend ${type}`);
    }
  }
}

function checkParams(params: BackendParams): void {
  checkRecord('createBackend: params', params);
  for (const [name, value] of Object.entries(params) as [string, unknown][]) {
    if (typeof value === 'string') continue;
    const text = `createBackend: parameter ${name} is a text, as in NIXL, not ${typeof value}`;
    throw new TcpxError('ERR_USAGE_ARGUMENT', text);
  }
}

/** Readable by name; nothing that prints or copies the parameters comes across a secret. */
function unprinted(params: BackendParams): BackendParams {
  const secrets = Object.keys(params).filter((name) => MAYBE_SECRET.test(name));
  return hideProperties({ ...params }, secrets);
}

/** Refuses a backend that claims more than it has; returns its connection info. */
function checkCapabilities(type: string, backend: Backend): Uint8Array | undefined {
  const refuse = (rule: string): never => {
    throw new TcpxError('ERR_CAP_BACKEND', `createBackend ${type}: ${rule}`);
  };
  const missing = missingMethods(backend);
  if (missing.length > 0) refuse(`it lacks ${missing.join(', ')}`);
  if (!backend.supportsRemote) return undefined;
  if (!backend.supportsNotif) refuse('it reaches other agents but has no notifications');
  const connInfo = backend.getConnInfo?.();
  if (connInfo === undefined || connInfo.length === 0)
    return refuse('its connection info is empty');
  return Uint8Array.from(connInfo);
}

async function closeQuietly(backend: Backend, type: string, log: Log): Promise<void> {
  try {
    await backend.close();
  } catch (error) {
    log.warn('backend close failed', { type, reason: String(error) });
  }
}

/** Not found among all, as NIXL says it; refused by those that the caller has chosen. */
export function noBackendFor(
  memType: MemType,
  backends: readonly OpenBackend[],
  isChosen: boolean,
): TcpxError {
  const taken = backends.map((handle) => {
    return `${handle.type} takes ${handle.memTypes.map(memTypeName).join(' and ')}`;
  });
  const hint = taken.length === 0 ? 'createBackend comes first' : taken.join(', ');
  return new TcpxError(
    isChosen ? 'ERR_CAP_BACKEND' : 'ERR_USAGE_NOT_FOUND',
    `registerMem: no backend for ${memTypeName(memType)}; ${hint}`,
  );
}
