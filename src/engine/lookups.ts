// Names that this end has asked the peer of a session for. A question that got lost with a control
// connection is asked again; each ends with an answer, its time, or the session.

import { TcpxError } from '../base/errors.js';
import { hideKey, type RegionDescriptor } from '../memory/region.js';
import type { ControlMessage, Found } from '../wire/control-frame.js';
import { ControlKind } from '../wire/control-frame.js';
import { parseRegion } from './region-text.js';

/** What the lookups of a session need from it. */
export interface LookupHost {
  readonly peer: string;
  nowUs(): number;
  /** Calls after this time; returns what takes it back. */
  after(delayMs: number, act: () => void): () => void;
  /** Drops what cannot be sent now. */
  send(message: ControlMessage): void;
}

interface Pending {
  readonly name: string;
  readonly endUs: number;
  /** When the peer must have answered at all. */
  readonly silentUs: number;
  resolve(found: RegionDescriptor): void;
  reject(error: TcpxError): void;
  cancelTimer: () => void;
}

/** Answers that may be owed to this end at a time: more is a program that never awaits. */
const PENDING_MAX = 256;
const AGAIN_MS = 50;

export class Lookups {
  readonly #host: LookupHost;
  readonly #answerMs: number;
  readonly #pending = new Map<number, Pending>();
  #nextId = 1;

  /** A peer that does not answer at all is given up after `answerMs`. */
  constructor(host: LookupHost, answerMs: number) {
    this.#host = host;
    this.#answerMs = answerMs;
  }

  /** Waits up to `waitMs` for a name that the peer does not know yet. */
  ask(name: string, waitMs: number): Promise<RegionDescriptor> {
    if (this.#pending.size >= PENDING_MAX) {
      const text = `lookup: ${PENDING_MAX} names are asked for already; await some first`;
      return Promise.reject(new TcpxError('ERR_USAGE_STATE', text));
    }
    const nowUs = this.#host.nowUs();
    return new Promise((resolve, reject) => {
      const endUs = nowUs + waitMs * 1000;
      const silentUs = Math.max(endUs, nowUs + this.#answerMs * 1000);
      const cancelTimer = (): void => undefined;
      this.#send({ name, endUs, silentUs, resolve, reject, cancelTimer });
    });
  }

  #send(pending: Pending): void {
    const lookupId = this.#nextId;
    this.#nextId = (this.#nextId % 0x7fffffff) + 1;
    this.#pending.set(lookupId, pending);
    pending.cancelTimer = this.#host.after(this.#answerMs / 4, () => this.#onSilence(lookupId));
    this.#host.send({ kind: ControlKind.Lookup, lookupId, name: pending.name });
  }

  #take(lookupId: number): Pending | undefined {
    const pending = this.#pending.get(lookupId);
    this.#pending.delete(lookupId);
    pending?.cancelTimer();
    return pending;
  }

  // The control connection may have been replaced with the question on its way.
  #onSilence(lookupId: number): void {
    const pending = this.#take(lookupId);
    if (pending === undefined) return;
    if (this.#host.nowUs() < pending.silentUs) {
      this.#send(pending);
      return;
    }
    const what = `lookup of ${JSON.stringify(pending.name)}`;
    const text = `${what}: no answer from ${this.#host.peer} in ${this.#answerMs} ms`;
    pending.reject(new TcpxError('ERR_PEER_TIMEOUT', text));
  }

  /** An answer to a question that was given up, or was never asked, changes nothing. */
  onFound(found: Found): void {
    const pending = this.#take(found.lookupId);
    if (pending === undefined) return;
    if (found.region === '') {
      this.#onUnknown(found.lookupId, pending);
      return;
    }
    try {
      pending.resolve(hideKey(parseRegion(found.region, found.bytes)));
    } catch (error) {
      pending.reject(error as TcpxError);
    }
  }

  #onUnknown(lookupId: number, pending: Pending): void {
    if (this.#host.nowUs() < pending.endUs) {
      this.#pending.set(lookupId, pending);
      pending.cancelTimer = this.#host.after(AGAIN_MS, () => {
        if (this.#take(lookupId) !== undefined) this.#send(pending);
      });
      return;
    }
    const text = `${this.#host.peer} has no region named ${JSON.stringify(pending.name)}`;
    pending.reject(new TcpxError('ERR_PEER_NO_REGION', text));
  }

  /** The session ends. */
  fail(error: TcpxError): void {
    for (const lookupId of [...this.#pending.keys()]) this.#take(lookupId)?.reject(error);
  }
}
