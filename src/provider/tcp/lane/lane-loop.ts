// The loop of a lane in a thread of its own: move, and look now and then whether others have come;
// with nothing to move look again for a bounded while, then sleep in epoll until a socket or the
// doorbell wakes it.

import { floatAt } from '../../../base/assert.js';
import { systemClock } from '../../../base/clock.js';
import { FLOAT_ZERO } from '../../../base/float-zero.js';
import type { CollectorPauses } from '../../../os/collector-pauses.js';
import { Readiness } from '../../../os/readiness.js';
import {
  peekRecord,
  publishRecords,
  reserveRecord,
  ringFreeBytes,
} from '../../../os/record-ring.hot.js';
import { SpinRest } from '../../../os/spin-rest.js';
import { currentCpu } from '../../../os/thread.js';
import { wakeWaiters } from '../../../os/thread-wait.js';
import type { StreamPort } from '../port/stream-port.js';
import { TcpPort } from '../port/tcp-port.js';
import { ShmPort } from '../shm/shm-port.js';
import { isAmidBulk, readUntold, setWakes } from './bulk-wait.hot.js';
import type { Channel } from './channel.js';
import { ChannelWatch } from './channel-watch.js';
import type { LaneHooks, PortOrder } from './lane-commands.js';
import { type LaneCore, zeroCopyCounters } from './lane-core.js';
import { stepLane } from './lane-step.hot.js';
import {
  ENGINE_FINISHED,
  ENGINE_MAIN_SLEEPS,
  ENGINE_WAITERS,
  EVENT_RESERVE_BYTES,
  LANE_LAST_CPU,
  LANE_LONGEST_PAUSE_US,
  LANE_PAUSED_US,
  LANE_PAUSES,
  LANE_SLEEP_COUNT,
  LANE_SLEEPS,
  LANE_STOP,
  LANE_TURNS,
} from './layout.js';
import { EVENT_CONTROL_READY } from './messages.js';
import { isAnswerExpected, nextSpinUs } from './spin.js';

/** Not longer: what stands still is looked at meanwhile. */
const SLEEP_MS = 50;
/** A lane that always finds something to move looks for others if it has not for so long. */
const LOOK_US = 100;
/** No descriptor tells that a GPU copy is done: the lane looks again for this long, then naps. */
const COPY_SPIN_US = 500;
const COPY_SLEEP_MS = 1;
/** To ask for pauses costs some microseconds and objects: of a lane that moves, now and then. */
const PAUSES_EVERY_US = 200_000;

export interface LaneLoopOptions {
  readonly core: LaneCore;
  readonly doorbellFd: number;
  /** epoll set of the control sockets, −1 where another lane watches it. */
  readonly controlFd: number;
  /** At most; see nextSpinUs. */
  readonly spinUs: number;
  readonly rest?: SpinRest;
  readonly pauses: CollectorPauses;
  /** Wakes the main thread out of its event loop. */
  readonly wakeMain: () => void;
}

export class LaneLoop implements LaneHooks {
  readonly #core: LaneCore;
  readonly #readiness: Readiness;
  readonly #spinLimitUs: number;
  /** While nothing is expected, and while an answer is. */
  readonly #spinUs: [number, number];
  readonly #wakeMain: () => void;
  readonly #watch: ChannelWatch;
  readonly #rest: SpinRest;
  readonly #pauses: CollectorPauses;
  #lookedUs = FLOAT_ZERO;
  #pausesUs = FLOAT_ZERO;

  constructor(options: LaneLoopOptions) {
    this.#core = options.core;
    this.#spinLimitUs = options.spinUs;
    this.#spinUs = [options.spinUs, options.spinUs];
    this.#rest = options.rest ?? new SpinRest();
    this.#pauses = options.pauses;
    this.#wakeMain = options.wakeMain;
    this.#readiness = new Readiness(options.doorbellFd);
    if (options.controlFd >= 0) this.#readiness.nest(options.controlFd);
    this.#watch = new ChannelWatch(this.#readiness);
  }

  openPort({ fd, channelIndex, windowBytes, link, isChecked }: PortOrder): StreamPort {
    if (link !== undefined) return new ShmPort(fd, link, !isChecked);
    const counters = zeroCopyCounters(this.#core, channelIndex);
    return new TcpPort(fd, this.#core.sendBy, counters, windowBytes);
  }

  onChannelAdded(channel: Channel): void {
    this.#watch.add(channel);
  }

  onChannelRemoved(channel: Channel): void {
    this.#watch.remove(channel);
  }

  onReadable(tag: number, isLast: boolean): void {
    this.#watch.onReadable(tag, isLast);
  }

  onWritable(tag: number): void {
    this.#watch.onWritable(tag);
  }

  onNested(): void {
    const { events } = this.#core;
    this.#core.hasNews = true;
    // Peers cause these: the reserve is not theirs, and main looks at its sockets when it wakes.
    if (ringFreeBytes(events) < EVENT_RESERVE_BYTES) return;
    if (reserveRecord(events, EVENT_CONTROL_READY, 4) >= 0) publishRecords(events);
  }

  /** Runs until the main thread sets LANE_STOP. */
  run(): void {
    const core = this.#core;
    const stopWord = core.controlAt / 4 + LANE_STOP;
    const turns = core.controlAt / 8 + LANE_TURNS;
    let idleSinceUs = 0;
    while (Atomics.load(core.int32, stopWord) === 0) {
      core.float64[turns] = floatAt(core.float64, turns) + 1;
      const nowUs = systemClock.nowUs();
      this.#watch.polled.look();
      const moved = stepLane(core, this, nowUs, true);
      this.#tellNews();
      if (moved > 0) {
        idleSinceUs = 0;
        if (nowUs - this.#pausesUs >= PAUSES_EVERY_US) this.#notePauses(nowUs);
        if (nowUs - this.#lookedUs >= LOOK_US) this.#look(nowUs);
        continue;
      }
      if (idleSinceUs === 0) idleSinceUs = nowUs;
      const { isPending } = core.staging;
      const kind = isAnswerExpected(core) ? 1 : 0;
      const spinUs = isPending ? Math.max(COPY_SPIN_US, this.#spinUs[kind]) : this.#spinUs[kind];
      const isBulk = isAmidBulk(core);
      // For GPU copies a nap is no sleep from which somebody wakes it: it looks all the same.
      const canLook = isPending || !(isBulk || this.#rest.isResting(nowUs));
      if (nowUs - idleSinceUs < spinUs && canLook) {
        this.#rest.yield();
        this.#look(nowUs);
        continue;
      }
      this.#sleep(isPending ? COPY_SLEEP_MS : SLEEP_MS);
      if (isPending || isBulk) continue;
      const waitedUs = systemClock.nowUs() - idleSinceUs;
      this.#spinUs[kind] = nextSpinUs(this.#spinUs[kind], waitedUs, this.#spinLimitUs);
    }
    this.#pauses.stop();
    this.#readiness.close();
  }

  #look(nowUs: number): void {
    this.#lookedUs = nowUs;
    setWakes(this.#core, false);
    this.#readiness.wait(0, this);
    this.#tellNews();
  }

  #sleep(timeoutMs: number): void {
    const core = this.#core;
    const sleeps = core.controlAt / 4 + LANE_SLEEPS;
    Atomics.store(core.int32, sleeps, 1);
    // A command that came before the word was set would not ring the doorbell.
    if (peekRecord(core.commands) < 0 && this.#watch.polled.prepareSleep()) {
      const counter = core.controlAt / 8 + LANE_SLEEP_COUNT;
      core.float64[counter] = floatAt(core.float64, counter) + 1;
      this.#noteCpu();
      setWakes(core, true);
      this.#readiness.wait(timeoutMs, this);
      this.#lookedUs = systemClock.nowUs();
      readUntold(core);
      this.#watch.polled.endSleep();
    }
    Atomics.store(core.int32, sleeps, 0);
    this.#tellNews();
  }

  // Where the lane really runs, for whoever asked for a place.
  #noteCpu(): void {
    this.#core.float64[this.#core.controlAt / 8 + LANE_LAST_CPU] = currentCpu();
  }

  #notePauses(nowUs: number): void {
    this.#pausesUs = nowUs;
    const { count, totalUs, longestUs } = this.#pauses.take();
    if (count === 0) return;
    const { float64, controlAt } = this.#core;
    const at = controlAt / 8;
    float64[at + LANE_PAUSES] = floatAt(float64, at + LANE_PAUSES) + count;
    float64[at + LANE_PAUSED_US] = floatAt(float64, at + LANE_PAUSED_US) + totalUs;
    const longest = at + LANE_LONGEST_PAUSE_US;
    float64[longest] = Math.max(floatAt(float64, longest), longestUs);
  }

  #tellNews(): void {
    const core = this.#core;
    if (core.hasFinished) {
      core.hasFinished = false;
      if (Atomics.load(core.int32, ENGINE_WAITERS) > 0) {
        wakeWaiters(core.sharedAddr + ENGINE_FINISHED * 4);
      }
    }
    if (!core.hasNews) return;
    core.hasNews = false;
    if (Atomics.exchange(core.int32, ENGINE_MAIN_SLEEPS, 0) === 1) this.#wakeMain();
  }
}
