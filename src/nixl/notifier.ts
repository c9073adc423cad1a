// Notifications of one agent: sends through the backend that reaches the peer, collects from all.

import { onAbort, throwIfAborted } from '../base/abort.js';
import {
  checkMessage,
  checkOptions,
  type TimedWait,
  timedWaitOf,
  wrongArgument,
} from '../base/argument.js';
import { afterMs } from '../base/clock.js';
import { TcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { type ActivityBell, nextTurn } from './activity-bell.js';
import { CHOICE } from './agent-arguments.js';
import type { BackendChoice } from './agent-choice.js';
import type { BackendHandle } from './backend-handle.js';
import type { BackendSet, OpenBackend } from './backend-set.js';
import { checkAgentName } from './names.js';
import type { RemotePeers } from './remote-peers.js';
import { notifBytes } from './xfer-factory.js';

/** Sender → messages, in order of arrival. */
export type NotifMap = Map<string, Uint8Array[]>;

export class Notifier {
  readonly #ownName: string;
  readonly #backends: BackendSet;
  readonly #peers: RemotePeers;
  readonly #bell: ActivityBell;
  readonly #log: Log;

  constructor(
    ownName: string,
    backends: BackendSet,
    peers: RemotePeers,
    bell: ActivityBell,
    log: Log,
  ) {
    this.#ownName = ownName;
    this.#backends = backends;
    this.#peers = peers;
    this.#bell = bell;
    this.#log = log;
  }

  send(agent: string, given: Uint8Array | string, choice: BackendChoice): void {
    checkAgentName(agent, 'genNotif');
    checkMessage('genNotif: the message', given);
    checkOptions('genNotif', choice, CHOICE);
    const message = notifBytes(given) ?? new Uint8Array(0);
    const hint = choice.backends;
    const capable = this.#capable(hint, 'genNotif');
    const carrier = capable.find((handle) =>
      agent === this.#ownName
        ? handle.backend.supportsLocal
        : this.#peers.isReachable(agent, handle),
    );
    if (carrier === undefined) {
      throw new TcpxError('ERR_USAGE_NOT_FOUND', `genNotif: no backend reaches agent ${agent}`, {
        facts: { agent },
      });
    }
    carrier.backend.genNotif?.(agent, message);
  }

  /** Appends to `into`. One failing backend does not stop the others; the last error is thrown
   *  only when nothing was delivered, so that nothing drained is lost. */
  collect(into: NotifMap, choice: BackendChoice): NotifMap {
    if (!(into instanceof Map)) throw wrongArgument('getNotifs: into', 'a Map', into);
    checkOptions('getNotifs', choice, CHOICE);
    let failure: unknown;
    let count = 0;
    for (const handle of this.#capable(choice.backends, 'getNotifs')) {
      try {
        count += append(into, handle);
      } catch (error) {
        this.#log.warn('getNotifs failed', { backend: handle.type, reason: String(error) });
        failure = error;
      }
    }
    if (failure !== undefined && count === 0) throw failure as Error;
    return into;
  }

  /**
   * The first notifications to come; none when time is up. An AbortError when `signal` fires.
   * Without a time it waits until one comes, or the signal says so.
   */
  async wait(options: number | TimedWait): Promise<NotifMap> {
    const { timeoutMs = Number.POSITIVE_INFINITY, signal } = timedWaitOf('waitNotifs', options);
    const into: NotifMap = new Map();
    const canAllRing = this.#capable(undefined, 'waitNotifs').every(
      (handle) => handle.backend.onActivity !== undefined,
    );
    let isOver = signal?.aborted ?? false;
    const stop = () => {
      isOver = true;
      this.#bell.ring();
    };
    const stopTimer = afterMs(timeoutMs, stop);
    const release = onAbort(signal, stop);
    try {
      while (this.collect(into, {}).size === 0 && !isOver) {
        await (canAllRing ? this.#bell.next() : nextTurn());
      }
      if (into.size === 0) throwIfAborted(signal, 'waitNotifs');
      return into;
    } finally {
      stopTimer();
      release();
    }
  }

  #capable(hint: readonly BackendHandle[] | undefined, attempted: string): OpenBackend[] {
    const capable = this.#backends
      .select(hint)
      .filter((handle) => handle.backend.supportsNotif && handle.backend.supportsRemote);
    if (capable.length > 0) return capable;
    throw new TcpxError('ERR_CAP_BACKEND', `${attempted}: no backend here has notifications`);
  }
}

function append(into: NotifMap, handle: OpenBackend): number {
  const arrived = handle.backend.getNotifs?.() ?? [];
  for (const { agent, message } of arrived) {
    const messages = into.get(agent);
    if (messages === undefined) into.set(agent, [message]);
    else messages.push(message);
  }
  return arrived.length;
}
