import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../base/log.js';
import { NOTIFICATION_EVENT_BYTES } from '../os/record-ring.js';
import { ENGINE_NOTIFICATIONS } from '../provider/tcp/lane/layout.js';
import { EVENT_CONTROL_READY, EVENT_NOTIFICATION } from '../provider/tcp/lane/messages.js';
import { LaneEvents, type LaneEventsOptions } from './lane-events.js';
import { type PeerNotification, ReceivedNotification } from './notification.js';
import type { Session } from './session.js';

const SESSION = 0;
const EVENT_AT = 1024;

/** A lane that has landed, numbered and confirmed notifications, whose events nobody has taken. */
class LandedLane {
  readonly shared: { readonly int32: Int32Array; readonly uint8: Uint8Array };
  readonly told: string[] = [];
  readonly events: LaneEvents;
  #untaken: { readonly number: number; readonly text: string }[] = [];
  onControl = (): void => undefined;

  constructor() {
    const buffer = new SharedArrayBuffer(4096);
    this.shared = { int32: new Int32Array(buffer), uint8: new Uint8Array(buffer) };
    this.events = new LaneEvents({
      lanes: { shared: this.shared },
      sessions: { at: () => ({ face: {} }) },
      transfers: {},
      log: silentLog,
      onNotification: (one: PeerNotification) => this.told.push(one.text),
      pollControl: () => this.onControl(),
    } as unknown as LaneEventsOptions);
  }

  number(): number {
    return Atomics.add(this.shared.int32, ENGINE_NOTIFICATIONS, 1);
  }

  publish(number: number, text: string): void {
    this.#untaken.push({ number, text });
  }

  takeEvents(): number {
    const taken = this.#untaken;
    this.#untaken = [];
    for (const { number, text } of taken) {
      const bytes = new TextEncoder().encode(text);
      this.shared.int32.set([SESSION, bytes.length, number], EVENT_AT >> 2);
      this.shared.uint8.set(bytes, EVENT_AT + NOTIFICATION_EVENT_BYTES);
      this.events.handle(EVENT_NOTIFICATION, EVENT_AT);
    }
    return taken.length;
  }

  accept(text: string): void {
    const session = {} as Session;
    this.events.accept(new ReceivedNotification(session, new TextEncoder().encode(text)));
  }
}

test('what came by no lane is told behind what a lane had landed before', () => {
  const lane = new LandedLane();
  lane.accept('first');
  assert.deepEqual(lane.told, ['first'], 'at once where nothing was before');
  lane.publish(lane.number(), 'second');
  lane.accept('third');
  lane.publish(lane.number(), 'fourth');
  lane.accept('fifth');
  assert.deepEqual(lane.told, ['first'], 'rings are not looked at amid a frame');
  lane.takeEvents();
  lane.events.deliver();
  assert.deepEqual(lane.told, ['first', 'second', 'third', 'fourth', 'fifth']);
});

test('it waits for an event that a lane has numbered and not yet published', () => {
  const lane = new LandedLane();
  const late = lane.number();
  lane.publish(lane.number(), 'second');
  lane.accept('third');
  assert.deepEqual(lane.told, []);
  lane.publish(late, 'first');
  lane.takeEvents();
  lane.events.deliver();
  assert.deepEqual(lane.told, ['first', 'second', 'third']);
});

test('one that comes amid an event is told by whoever takes events', () => {
  const lane = new LandedLane();
  lane.onControl = () => lane.accept('amid');
  lane.events.handle(EVENT_CONTROL_READY, EVENT_AT);
  assert.deepEqual(lane.told, []);
  lane.events.deliver();
  assert.deepEqual(lane.told, ['amid']);
});
