// Events that lanes report, turned into what they mean for sessions and transfers.

import { assert, at as elementAt, wordAt } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';
import { failureOf } from '../base/failure.js';
import { LimitedLog } from '../base/limited-log.js';
import type { Log } from '../base/log.js';
import type { ChannelIndex, SessionIndex } from '../base/quantity.js';
import { systemErrorName } from '../os/error-name.js';
import { NOTIFICATION_EVENT_BYTES } from '../os/record-ring.js';
import { ENGINE_NOTIFICATIONS } from '../provider/tcp/lane/layout.js';
import {
  DOWN_EVENT_WORDS,
  EVENT_CHANNEL_DOWN,
  EVENT_CONTROL_READY,
  EVENT_DEVICE_COPIES,
  EVENT_DEVICE_FAILED,
  EVENT_FINISHED,
  EVENT_NOTIFICATION,
  EVENT_REFUSED,
  EVENT_RETRY,
  EVENT_SESSION_CLOSED,
  EVENT_SIGNAL,
  EVENT_STALLED,
  LOSS_DAMAGED,
  LOSS_DROPPED,
  LOSS_PROTOCOL,
  LOSS_SYSTEM,
  PART_HEAD,
  PART_TABLE,
  STALLED_HOLDS,
  STALLED_YES,
} from '../provider/tcp/lane/messages.js';
import type { LaneSet } from '../provider/tcp/lane-set.js';
import { FRAME_RULES, frameName } from '../wire/data-frame-rules.js';
import type { LiveSession } from './live-session.js';
import { type PeerNotification, ReceivedNotification } from './notification.js';
import type { SessionTable } from './session-table.js';
import type { Transfers } from './transfers.js';

export interface LaneEventsOptions {
  readonly lanes: LaneSet;
  readonly sessions: SessionTable;
  readonly transfers: Transfers;
  readonly log: Log;
  onNotification(notification: PeerNotification): void;
  pollControl(): void;
}

export class LaneEvents {
  readonly #options: LaneEventsOptions;
  /** In the order in which they landed; the first of them were handed on. */
  readonly #ordered: PeerNotification[] = [];
  #handedOn = 0;
  /** By their number among all notifications: lanes report them in any order. */
  readonly #ahead = new Map<number, PeerNotification | undefined>();
  #nextNumber = 0;
  #isHandling = false;
  readonly #refusals: LimitedLog;

  constructor(options: LaneEventsOptions) {
    this.#options = options;
    this.#refusals = new LimitedLog(options.log);
  }

  /** `at` is the byte index of the event's payload in shared memory. */
  handle(kind: number, at: number): void {
    assert(!this.#isHandling, 'an event is handled outside of the handling of another');
    this.#isHandling = true;
    try {
      this.#handle(kind, at);
    } finally {
      this.#isHandling = false;
    }
  }

  #handle(kind: number, at: number): void {
    const { lanes, transfers, sessions, log } = this.#options;
    const word = at >> 2;
    const first = lanes.shared.int32[word] ?? 0;
    switch (kind) {
      case EVENT_FINISHED:
        transfers.onFinished(first, lanes.shared.int32[word + 1] ?? 0);
        break;
      case EVENT_NOTIFICATION:
        this.#onNotification(first, at);
        break;
      case EVENT_CHANNEL_DOWN:
        this.#onChannelDown(first, word);
        break;
      case EVENT_STALLED:
        this.#onStalled(first, lanes.shared.int32.subarray(word + 1, word + 4));
        break;
      case EVENT_SIGNAL:
        this.#onSignal(first, at);
        break;
      case EVENT_RETRY:
        this.#onRetry(lanes.shared.int32.subarray(word, word + 3));
        break;
      case EVENT_SESSION_CLOSED:
        sessions.onLaneClosed(first);
        break;
      case EVENT_REFUSED:
        this.#onRefused(first, lanes.shared.int32.subarray(word + 1, word + 4));
        break;
      case EVENT_DEVICE_FAILED:
        log.error('a lane cannot use a GPU; transfers on it will fail', this.#reason(first, at));
        break;
      case EVENT_DEVICE_COPIES:
        log.warn('chunks of a GPU cannot be sent by reference; copied', this.#reason(first, at));
        break;
      case EVENT_CONTROL_READY:
        this.#options.pollControl();
        break;
      default:
        break;
    }
  }

  /**
   * A notification that came by no lane. Its number puts it behind those that lanes have landed,
   * and confirmed, before: where the event of one still lies in a ring, it waits for that. Rings
   * are not looked at here, amid a frame of the peer: an event may close what that came by.
   */
  accept(made: PeerNotification): void {
    const { int32 } = this.#options.lanes.shared;
    this.#place(Atomics.add(int32, ENGINE_NOTIFICATIONS, 1), made);
    // Whoever is taking events hands on what they brought, this one too.
    if (!this.#isHandling) this.deliver();
  }

  /**
   * Hands notifications on in the order in which they landed, outside of the ring: whoever takes
   * one may poll again.
   */
  deliver(): void {
    while (this.#handedOn < this.#ordered.length) {
      const next = elementAt(this.#ordered, this.#handedOn++);
      if (this.#handedOn === this.#ordered.length) {
        this.#ordered.length = 0;
        this.#handedOn = 0;
      }
      this.#options.onNotification(next);
    }
  }

  #onNotification(sessionIndex: SessionIndex, at: number): void {
    const { lanes, sessions } = this.#options;
    const { int32, uint8 } = lanes.shared;
    const session = sessions.at(sessionIndex);
    const count = wordAt(int32, (at >> 2) + 1);
    const number = wordAt(int32, (at >> 2) + 2);
    const first = at + NOTIFICATION_EVENT_BYTES;
    const bytes = uint8.slice(first, first + count);
    this.#place(number, session && new ReceivedNotification(session.face, bytes));
  }

  #place(number: number, made: PeerNotification | undefined): void {
    if (number !== this.#nextNumber) {
      this.#ahead.set(number, made);
      return;
    }
    this.#line(made);
    while (this.#ahead.size > 0 && this.#ahead.has(this.#nextNumber)) {
      const next = this.#ahead.get(this.#nextNumber);
      this.#ahead.delete(this.#nextNumber);
      this.#line(next);
    }
  }

  // One of a session that is gone counts, and nobody gets it.
  #line(made: PeerNotification | undefined): void {
    this.#nextNumber = (this.#nextNumber + 1) | 0;
    if (made !== undefined) this.#ordered.push(made);
  }

  #onChannelDown(sessionIndex: SessionIndex, word: number): void {
    const { sessions } = this.#options;
    const session = sessions.at(sessionIndex);
    if (session === undefined) return;
    const { int32 } = this.#options.lanes.shared;
    const [, channel = 0, epoch = 0, loss = 0, detail = 0, frameKind = 0, landed = 0, count = 0] =
      int32.subarray(word, word + DOWN_EVENT_WORDS);
    const refusals = Array.from({ length: count }, (_, index) => ({
      sequence: int32[word + DOWN_EVENT_WORDS + 2 * index] ?? 0,
      reason: int32[word + DOWN_EVENT_WORDS + 2 * index + 1] ?? 0,
    }));
    const error = lossError(session, channel, { loss, detail, frameKind });
    // Whatever the peer says of it, before or after.
    if (loss === LOSS_PROTOCOL) {
      sessions.onRuleBroken(session, error);
      return;
    }
    // A goodbye may lie unread on the control connection: it explains the loss.
    this.#options.pollControl();
    if (!session.isReady) {
      sessions.close(session, error);
      return;
    }
    const isDamaged = loss === LOSS_DAMAGED;
    session.recovery.onDown({ channel, epoch, landed, isDamaged, refusals }, { loss, error });
  }

  #onStalled(sessionIndex: SessionIndex, words: Int32Array): void {
    const [channel = 0, epoch = 0, what = 0] = words;
    const recovery = this.#options.sessions.at(sessionIndex)?.recovery;
    const held = 'its peer holds a region that is being deregistered';
    if (what === STALLED_HOLDS) recovery?.giveUp(channel, epoch, held);
    else recovery?.onStalled(channel, epoch, what === STALLED_YES);
  }

  #onSignal(sessionIndex: SessionIndex, at: number): void {
    const { shared } = this.#options.lanes;
    const first = at + NOTIFICATION_EVENT_BYTES;
    const bytes = shared.uint8.slice(first, first + (shared.int32[(at >> 2) + 1] ?? 0));
    this.#options.sessions.at(sessionIndex)?.recovery.onSignal(bytes);
  }

  #onRetry(words: Int32Array): void {
    const [slot = 0, generation = 0, chunk = 0] = words;
    this.#options.transfers.moves.onRetry(slot, generation, chunk);
  }

  #reason(bytes: number, at: number): { readonly reason: string } {
    const text = this.#options.lanes.shared.uint8.slice(at + 4, at + 4 + bytes);
    return { reason: new TextDecoder().decode(text) };
  }

  #onRefused(sessionIndex: SessionIndex, words: Int32Array): void {
    const [channel = 0, reason = 0, regionSlot = 0] = words;
    const peer = this.#options.sessions.at(sessionIndex)?.peer ?? 'unknown';
    const { code, refused } = failureOf(reason);
    const fields = { peer, channel, code, reason: refused, region: regionSlot };
    this.#refusals.warn('operation refused', fields);
  }
}

interface Loss {
  readonly loss: number;
  readonly detail: number;
  readonly frameKind: number;
}

function lossError(session: LiveSession, channel: ChannelIndex, how: Loss): TcpxError {
  const where = `${session.peer} channel ${channel}`;
  if (how.loss === LOSS_PROTOCOL) {
    const rule = FRAME_RULES[how.detail] ?? 'unknown';
    const frame = frameName(how.frameKind);
    return new TcpxError(
      'ERR_WIRE_FRAME',
      `${where}: ${frame} breaks rule ${how.detail}: ${rule}`,
      {
        facts: { peer: session.peer, channel, number: how.detail, rule, frame },
      },
    );
  }
  const reason = lossReason(how);
  return new TcpxError('ERR_PEER_LOST', `${where}: ${reason}`, {
    facts: { peer: session.peer, channel, reason },
  });
}

function lossReason({ loss, detail }: Loss): string {
  if (loss === LOSS_SYSTEM) return systemErrorName(detail);
  if (loss === LOSS_DAMAGED) return `a frame came damaged, in its ${partName(detail)}`;
  return loss === LOSS_DROPPED ? 'given up' : 'the peer closed the connection';
}

function partName(part: number): string {
  if (part === PART_HEAD) return 'head';
  return part === PART_TABLE ? 'table' : 'message';
}
