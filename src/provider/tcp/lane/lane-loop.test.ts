// A lane that is never idle still hears of those who come; an idle one looks again, or sleeps.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { LaneEnd } from '../../../../test/support/lane-end.js';
import { openLoopbackPair } from '../../../../test/support/loopback-pair.js';
import { systemClock } from '../../../base/clock.js';
import { ZERO_COPY_COUNTERS } from '../../../base/shared-layout.js';
import { CollectorPauses } from '../../../os/collector-pauses.js';
import { openFixedMemory } from '../../../os/fixed-memory.js';
import { closeDoorbell, createDoorbell, ringDoorbell } from '../../../os/readiness.js';
import { SpinRest } from '../../../os/spin-rest.js';
import {
  DATA_HEAD_BYTES,
  FRAME_ACK,
  WORD_KIND,
  WORD_OPERATION_BYTES,
} from '../../../wire/data-frame.js';
import { type StreamPort } from '../port/stream-port.js';
import { TcpPort } from '../port/tcp-port.js';
import { Channel } from './channel.js';
import { LaneLoop } from './lane-loop.js';
import {
  ENGINE_MAIN_SLEEPS,
  LANE_LONGEST_PAUSE_US,
  LANE_PAUSED_US,
  LANE_PAUSES,
  LANE_STOP,
} from './layout.js';
import { EVENT_CONTROL_READY } from './messages.js';

const AGREEMENT = { channels: 1, windowChunks: 4, chunkBytes: 4096 };
const PATIENCE_US = 10_000_000;
/** Long enough that a look at the start alone would not do. */
const BUSY_US = 20_000;
/** Less than a head: nothing comes of them but that they are read. */
const FEW_BYTES = 8;
const WAKE_BYTES = 256 * 1024;

/** A peer that never stops: every call brings an acknowledgement of nothing new. */
class EndlessPort implements StreamPort {
  readonly fd = -1;
  readonly isByReference = false;
  readonly #onReceive: () => void;
  #addr = 0;

  constructor(onReceive: () => void) {
    this.#onReceive = onReceive;
  }

  setReceive(_index: number, addr: number): void {
    this.#addr = addr;
  }

  receive(): number {
    this.#onReceive();
    const { uint8, uint32 } = openFixedMemory(this.#addr, DATA_HEAD_BYTES);
    uint8.fill(0);
    uint32[WORD_KIND] = FRAME_ACK;
    uint32[WORD_OPERATION_BYTES] = AGREEMENT.windowChunks;
    return DATA_HEAD_BYTES;
  }

  setSend(): void {
    assert.fail('nothing is due');
  }

  send(): number {
    return assert.fail('nothing is due');
  }

  advanceSend(): number {
    return assert.fail('nothing is due');
  }

  queuedBytes(): number {
    return 0;
  }

  isPathSilent(): boolean {
    return false;
  }

  close(): void {
    // Nothing is open.
  }
}

/** A lane with that peer; its loop runs in this thread until it is stopped, or patience ends. */
class BusyLane {
  readonly end = new LaneEnd(AGREEMENT);
  readonly controlFd = createDoorbell();
  readonly loop: LaneLoop;
  readonly #startUs = systemClock.nowUs();
  readonly #onReceive: () => void;

  /** `onReceive`: called again and again, once the lane has been busy for a while. */
  constructor(t: TestContext, onReceive: () => void) {
    const { core } = this.end;
    this.#onReceive = onReceive;
    const [doorbellFd, controlFd] = [createDoorbell(), this.controlFd];
    const wakeMain = (): void => this.stop();
    const pauses = new CollectorPauses();
    this.loop = new LaneLoop({ core, doorbellFd, controlFd, spinUs: 0, pauses, wakeMain });
    // Otherwise fewer bytes than asked for mean that the socket is empty.
    this.add(new EndlessPort(() => this.#onTurn())).ready.onEnding();
    t.after(() => {
      this.end.destroy();
      closeDoorbell(doorbellFd);
      closeDoorbell(controlFd);
    });
  }

  add(port: StreamPort): Channel {
    const { windowChunks, chunkBytes: chunkBytesMax } = AGREEMENT;
    const place = { sessionIndex: 0, channelIndex: 0, epoch: 0, isStriped: false };
    const agreed = { windowChunks, chunkBytesMax, isChecked: false };
    const channel = new Channel({ port, ...place, ...agreed });
    this.end.core.channels.push(channel);
    return channel;
  }

  stop(): void {
    const { core } = this.end;
    Atomics.store(core.int32, core.controlAt / 4 + LANE_STOP, 1);
  }

  #onTurn(): void {
    const elapsedUs = systemClock.nowUs() - this.#startUs;
    if (elapsedUs > PATIENCE_US) this.stop();
    if (elapsedUs > BUSY_US) this.#onReceive();
  }
}

test('a lane that always finds something to move hears of the control sockets', (t) => {
  let isRung = false;
  const lane: BusyLane = new BusyLane(t, () => {
    if (!isRung) ringDoorbell(lane.controlFd);
    isRung = true;
  });
  lane.end.core.int32[ENGINE_MAIN_SLEEPS] = 1;
  lane.loop.run();
  lane.end.drain();
  assert.equal(lane.end.eventsOf(EVENT_CONTROL_READY).length, 1);
});

test('a lane that always finds something to move hears of few bytes of another peer', (t) => {
  const pair = openLoopbackPair();
  const counters = new Float64Array(ZERO_COPY_COUNTERS);
  const [port, peer] = [pair.serverFd, pair.clientFd].map(
    (fd) => new TcpPort(fd, 'copy', counters, 1),
  );
  assert.ok(port !== undefined && peer !== undefined);
  t.after(() => peer.close(true));
  let isSent = false;
  const lane: BusyLane = new BusyLane(t, () => {
    if (quiet.intake.receivedBytes > 0) lane.stop();
    if (isSent) return;
    peer.setSend(0, quiet.vector.heads.addr, FEW_BYTES);
    assert.equal(peer.send(0, 1, false), FEW_BYTES);
    isSent = true;
  });
  const quiet = lane.add(port);
  lane.loop.onChannelAdded(quiet);
  // As before a sleep amid bulk.
  port.wakeAt(WAKE_BYTES);
  quiet.ready.setWake(WAKE_BYTES);
  lane.loop.run();
  assert.equal(quiet.intake.receivedBytes, FEW_BYTES);
});

/** How often an idle lane yields until it hears of a control socket, which is ready. */
function yieldsOfIdleLane(t: TestContext, isResting: boolean): number {
  const end = new LaneEnd(AGREEMENT);
  const { core } = end;
  const [doorbellFd, controlFd] = [createDoorbell(), createDoorbell()];
  let yields = 0;
  const rest = new SpinRest(systemClock, () => yields++);
  t.mock.method(rest, 'isResting', () => isResting);
  const wakeMain = (): void => {
    Atomics.store(core.int32, core.controlAt / 4 + LANE_STOP, 1);
  };
  const pauses = new CollectorPauses();
  const spinUs = PATIENCE_US;
  const loop = new LaneLoop({ core, doorbellFd, controlFd, spinUs, rest, pauses, wakeMain });
  t.after(() => {
    end.destroy();
    closeDoorbell(doorbellFd);
    closeDoorbell(controlFd);
  });
  core.int32[ENGINE_MAIN_SLEEPS] = 1;
  ringDoorbell(controlFd);
  loop.run();
  return yields;
}

test('an idle lane yields its core and looks again', (t) => {
  assert.equal(yieldsOfIdleLane(t, false), 1);
});

test('an idle lane that has lost its core in a yield sleeps at once', (t) => {
  assert.equal(yieldsOfIdleLane(t, true), 0);
});

test('a lane says how long the collector stopped its thread', (t) => {
  const garbage: unknown[] = [];
  const read = (index: number) => lane.end.core.float64[lane.end.core.controlAt / 8 + index];
  const lane: BusyLane = new BusyLane(t, () => {
    if ((read(LANE_PAUSES) ?? 0) > 0) lane.stop();
    for (let index = 0; index < 1000; index++) garbage.push({ index });
  });
  lane.loop.run();
  const [count, totalUs = 0, longestUs = 0] = [
    ...[read(LANE_PAUSES), read(LANE_PAUSED_US), read(LANE_LONGEST_PAUSE_US)],
  ];
  assert.ok((count ?? 0) > 0, 'none was counted');
  assert.ok(longestUs > 0 && longestUs <= totalUs, `${longestUs} of ${totalUs} µs`);
});
