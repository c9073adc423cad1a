// One turn of a lane: commands, then every channel that may have something. The loop around it
// (worker thread or caller) decides when to look again.

import { receiveTurn } from './channel-receive.hot.js';
import { sendTurn } from './channel-send.hot.js';
import { landFrames } from './landing.hot.js';
import type { LaneCore } from './lane-core.js';
import { beginStaging, startStaging } from './staging-turn.hot.js';
import { TURN_SYSTEM } from './turn.js';
import { type LaneHooks, loseChannel, takeCommands } from './lane-commands.js';

/** Number of channels and commands on which something moved. */
export function stepLane(core: LaneCore, hooks: LaneHooks, nowUs: number): number {
  core.nowUs = nowUs;
  let moved = takeCommands(core, hooks);
  beginStaging(core);
  // Backwards, because a lost channel leaves the list.
  for (let index = core.channels.length - 1; index >= 0; index--) {
    const channel = core.channels[index]!;
    moved += landFrames(core, channel);
    const received = receiveTurn(core, channel);
    if (received < 0) {
      loseChannel(core, hooks, channel, received);
      moved++;
      continue;
    }
    const sent = sendTurn(core, channel);
    if (sent < 0) {
      loseChannel(core, hooks, channel, TURN_SYSTEM + sent);
      moved++;
      continue;
    }
    moved += received | sent;
  }
  startStaging(core);
  return moved;
}
