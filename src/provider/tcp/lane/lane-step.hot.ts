// One turn of a lane: commands, then every channel that may have something. The loop around it
// (worker thread or caller) decides when to look again.

import { endChannel } from './channel-end.js';
import { checkHealth, HEALTH_US } from './channel-health.js';
import { receiveTurn } from './channel-receive.hot.js';
import { sendTurn } from './channel-send.hot.js';
import { returnLeft } from './channel-settle.js';
import { landFrames } from './landing.hot.js';
import { type LaneHooks, takeCommands } from './lane-commands.js';
import type { LaneCore } from './lane-core.js';
import { beginStaging, startStaging } from './staging-turn.hot.js';
import { TURN_SYSTEM } from './turn.js';

/**
 * Number of channels and commands on which something moved. `mayJudge`: channels on which nothing
 * moves may be given up; not by a turn that does not receive.
 */
export function stepLane(
  core: LaneCore,
  hooks: LaneHooks,
  nowUs: number,
  mayJudge: boolean,
): number {
  core.nowUs = nowUs;
  let moved = takeCommands(core, hooks);
  if (core.leaving.length > 0) returnLeft(core);
  if (mayJudge && nowUs - core.healthUs >= HEALTH_US) checkHealth(core, nowUs);
  const isStaged = core.staging.stagers.length > 0;
  if (isStaged) beginStaging(core);
  // Backwards, because a lost channel leaves the list.
  for (let index = core.channels.length - 1; index >= 0; index--) {
    const channel = core.channels[index]!;
    if (isStaged) moved += landFrames(core, channel);
    const received = receiveTurn(core, channel);
    if (received < 0) {
      endChannel(core, hooks, channel, received);
      moved++;
      continue;
    }
    const sent = sendTurn(core, channel);
    if (sent < 0) {
      endChannel(core, hooks, channel, TURN_SYSTEM + sent);
      moved++;
      continue;
    }
    moved += received | sent;
  }
  if (isStaged) startStaging(core);
  return moved;
}
