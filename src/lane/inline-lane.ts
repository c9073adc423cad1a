// A lane without a thread: whoever polls moves it. It asks the sockets directly, because a poll
// that finds nothing must cost as little as one call.

import { systemClock } from '../base/clock.js';
import type { StreamPort } from '../transport/stream-port.js';
import { TcpPort } from '../transport/tcp/tcp-port.js';
import type { LaneHooks } from './lane-commands.js';
import { destroyLaneCore, type LaneCore, zeroCopyCounters } from './lane-core.js';
import { stepLane } from './lane-step.hot.js';

/** Makes a port of the descriptor that came with a channel. */
export type PortOpener = (fd: number, counters: Float64Array | undefined) => StreamPort;

const openTcpPort: PortOpener = (fd, counters) => new TcpPort(fd, counters);
/** Health is looked at once in so many polls: asking for the time costs as much as a poll. */
const HEALTH_MASK = 63;

export class InlineLane implements LaneHooks {
  readonly #core: LaneCore;
  readonly #open: PortOpener;
  #steps = 0;

  constructor(core: LaneCore, open: PortOpener = openTcpPort) {
    this.#core = core;
    this.#open = open;
  }

  openPort(fd: number, channelIndex: number): StreamPort {
    return this.#open(fd, zeroCopyCounters(this.#core, channelIndex));
  }

  onChannelAdded(): void {
    // Nothing watches readiness here.
  }

  onChannelRemoved(): void {
    // Nothing watches readiness here.
  }

  step(): number {
    for (const channel of this.#core.channels) {
      channel.isReadable = true;
      channel.isWritable = true;
    }
    this.#core.hasNews = false;
    this.#core.hasFinished = false;
    // Only a striped channel asks for the time, and health now and then.
    this.#steps = (this.#steps + 1) & HEALTH_MASK;
    const isTimed = this.#core.channels.length > 1 || this.#steps === 0;
    const nowUs = isTimed ? systemClock.nowUs() : 0;
    return stepLane(this.#core, this, nowUs);
  }

  close(): void {
    destroyLaneCore(this.#core);
  }
}
