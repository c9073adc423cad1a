// A transfer request as programs hold it: to hand to the agent's verbs, and to see how it stands.

import { inspect } from 'node:util';
import { wrongArgument } from '../base/argument.js';
import type { TcpxError } from '../base/errors.js';
import { formatBytes } from '../base/units.js';
import type { BackendHandle } from './backend-handle.js';
import type { LiveRequest } from './live-request.js';
import { XferOp } from './memory-type.js';
import { type NixlStatus, nixlStatusName } from './status.js';

/** What the agent has behind it; throws `ERR_USAGE_ARGUMENT` for anything else. */
export let liveRequest: (attempted: string, request: unknown) => LiveRequest;

/**
 * What an agent's verbs take: posted as often as you like, then released.
 * @example
 * const request = agent.createXferReq('WRITE', local, remote, 'decode-0');
 * agent.postXferReq(request);
 * await agent.waitXferReq(request);
 */
export class XferRequest {
  static {
    liveRequest = (attempted, request) => {
      if (typeof request === 'object' && request !== null && #live in request) return request.#live;
      const wanted = 'what createXferReq or makeXferReq gave';
      throw wrongArgument(`${attempted}: request`, wanted, request);
    };
  }

  readonly #live: LiveRequest;

  /** @internal */
  constructor(live: LiveRequest) {
    this.#live = live;
  }

  /** Write or read. */
  get op(): XferOp {
    return this.#live.op;
  }

  /** The backend that moves it. */
  get backend(): BackendHandle {
    return this.#live.backend.handle;
  }

  /** The agent whose memory it writes or reads. */
  get agent(): string {
    return this.#live.peer.name;
  }

  /** Ranges that it moves. */
  get descCount(): number {
    return this.#live.descCount;
  }

  /** Bytes that it moves. */
  get totalBytes(): number {
    return this.#live.totalBytes;
  }

  /** How far the last post was when somebody last looked; `agent.getXferStatus` looks. */
  get status(): NixlStatus {
    return this.#live.status;
  }

  /** Why the last post failed. */
  get error(): TcpxError | undefined {
    return this.#live.error;
  }

  /** Whether it was given back. */
  get isReleased(): boolean {
    return this.#live.isReleased;
  }

  /** A line: what it moves, with whom, and how it stands. */
  [inspect.custom](): string {
    const { op, totalBytes, agent, status, backend } = this;
    const what = `${op === XferOp.READ ? 'READ' : 'WRITE'} of ${formatBytes(totalBytes)}`;
    const how = `${nixlStatusName(status)}, peer: ${agent}, ${backend.type}`;
    return `XferRequest { ${what}, ${how} }`;
  }
}
