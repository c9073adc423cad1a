// A lane that is never idle still hears of those who come.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../base/clock.js';
import { LaneEnd } from '../testing/lane-end.js';
import { openFixedMemory } from '../memory/fixed-memory.js';
import type { StreamPort } from '../transport/stream-port.js';
import { closeDoorbell, createDoorbell, ringDoorbell } from '../transport/tcp/readiness.js';
import { DATA_HEAD_BYTES, FRAME_ACK, WORD_KIND, WORD_OPERATION_BYTES } from '../wire/data-frame.js';
import { Channel } from './channel.js';
import { LaneLoop } from './lane-loop.js';
import { ENGINE_MAIN_SLEEPS, LANE_STOP } from './layout.js';
import { EVENT_CONTROL_READY } from './messages.js';

const AGREEMENT = { channels: 1, windowChunks: 4, chunkBytes: 4096 };
const PATIENCE_US = 2_000_000;

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

test('a lane that always finds something to move hears of the control sockets', (t) => {
  const end = new LaneEnd(AGREEMENT);
  const { core } = end;
  const [doorbellFd, controlFd] = [createDoorbell(), createDoorbell()];
  t.after(() => {
    end.destroy();
    closeDoorbell(doorbellFd);
    closeDoorbell(controlFd);
  });
  const startUs = systemClock.nowUs();
  const stop = (): void => void Atomics.store(core.int32, core.controlAt / 4 + LANE_STOP, 1);
  const port = new EndlessPort(() => {
    if (systemClock.nowUs() - startUs > PATIENCE_US) stop();
  });
  const { windowChunks, chunkBytes: chunkBytesMax } = AGREEMENT;
  const place = { sessionIndex: 0, channelIndex: 0, epoch: 0, isStriped: false };
  const channel = new Channel({ port, ...place, windowChunks, chunkBytesMax });
  // Otherwise fewer bytes than asked for mean that the socket is empty.
  channel.isEnding = true;
  core.channels.push(channel);
  core.int32[ENGINE_MAIN_SLEEPS] = 1;
  const loop = new LaneLoop({ core, doorbellFd, controlFd, spinUs: 0, wakeMain: stop });
  ringDoorbell(controlFd);
  loop.run();
  end.drain();
  assert.equal(end.eventsOf(EVENT_CONTROL_READY).length, 1);
});
