// The backends of one agent, in the order of their creation, which is also the order of preference.

import { throwIfAborted, withSignal } from '../base/abort.js';
import { checkList, checkRecord, wrongArgument } from '../base/argument.js';
import { TcpxError, toTcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { hideProperties } from '../base/secret-bytes.js';
import { type Backend, type BackendParams, type BackendPlugin, missingMethods } from './backend.js';
import type { RegDlist } from './descriptors.js';
import { type MemType, memTypeName } from './memory-type.js';
import { checkBackendType } from './names.js';
import type { PluginManager } from './plugin-manager.js';
import { checkDlist } from './xfer-dlist.js';

/** Names of parameters, of TCPX and of other backends, whose values are nobody's business. */
const MAYBE_SECRET = /secret|token|password|credential|key/i;

/** What createBackend returns and options name: one backend of one agent. */
export interface BackendHandle {
  /** Name of its plugin. */
  readonly type: string;
  /** The backend itself. */
  readonly backend: Backend;
  /** Parameters that it was created with; those that may be secret are not printed. */
  readonly params: BackendParams;
  /** Memory that it can move. */
  readonly memTypes: readonly MemType[];
  /** Taken once, at creation; undefined where the backend does not reach other agents. */
  readonly connInfo: Uint8Array | undefined;
}

export class BackendSet {
  readonly #handles: BackendHandle[] = [];
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

  all(): readonly BackendHandle[] {
    return this.#handles;
  }

  get(type: string): BackendHandle | undefined {
    return this.#handles.find((handle) => handle.type === type);
  }

  /** The named backends, or all; a handle of another agent is refused. */
  select(hint: readonly BackendHandle[] | undefined): readonly BackendHandle[] {
    this.#assertOpen();
    if (hint === undefined) return this.#handles;
    checkList('backends', hint);
    if (hint.length === 0) return this.#handles;
    for (const handle of hint) {
      if (this.#handles.includes(handle)) continue;
      throw wrongArgument('backends', `handles from createBackend of ${this.#agent}`, handle);
    }
    return hint;
  }

  async create(type: string, params: BackendParams, signal?: AbortSignal): Promise<BackendHandle> {
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
  ): Promise<BackendHandle> {
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
    const [handle, ...others] = hint;
    if (handle === undefined || others.length > 0) {
      throw new TcpxError('ERR_USAGE_ARGUMENT', 'queryMem: exactly one backend is asked');
    }
    this.select(hint);
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

  async #open(type: string, plugin: BackendPlugin, params: BackendParams): Promise<BackendHandle> {
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
      return { type, backend, params: unprinted(params), memTypes, connInfo };
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
  backends: readonly BackendHandle[],
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
