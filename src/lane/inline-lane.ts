// A lane without a thread: whoever polls moves it. It asks the sockets directly, because a poll
// that finds nothing must cost as little as one call.

import { systemClock } from '../base/clock.js';
import { TcpPort } from '../transport/tcp/tcp-port.js';
import type { LaneHooks } from './lane-commands.js';
import { destroyLaneCore, type LaneCore, zeroCopyCounters } from './lane-core.js';
import { stepLane } from './lane-step.hot.js';

export class InlineLane implements LaneHooks {
  readonly #core: LaneCore;

  constructor(core: LaneCore) {
    this.#core = core;
  }

  openPort(fd: number, channelIndex: number): TcpPort {
    return new TcpPort(fd, zeroCopyCounters(this.#core, channelIndex));
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
    // Only a striped channel and staged transfers ask for the time.
    const { channels, staging } = this.#core;
    const isTimed = channels.length > 1 || staging.stagers.length > 0;
    return stepLane(this.#core, this, isTimed ? systemClock.nowUs() : 0);
  }

  close(): void {
    destroyLaneCore(this.#core);
  }
}
