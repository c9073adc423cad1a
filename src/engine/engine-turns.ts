// An engine whose thread has a lane of its own: what that lane needs of the thread, and who gives
// the engine turn after turn.

import type { ControlSet } from '../os/control-set.js';
import type { OwnLaneHost } from '../provider/tcp/lane/own-lane.js';
import type { LaneSet } from '../provider/tcp/lane-set.js';
import type { MainLook } from './main-look.js';

export interface EngineTurns {
  /** Without, nobody needs to hold it: lanes have threads. */
  readonly hasOwnLane: boolean;
  /** Changes when something comes for an own lane that nobody holds. */
  readonly toldCount: number;
  /** As `poll`; how much was done. */
  turn(): number;
  /** From now on turns come one after the other. */
  hold(): void;
  /** No more. False where there is something to do: one more turn is due. */
  letGo(): boolean;
}

export function engineTurns({ own }: LaneSet, turn: () => number): EngineTurns {
  return {
    hasOwnLane: own !== undefined,
    get toldCount() {
      return own?.toldCount ?? 0;
    },
    turn,
    hold: () => own?.hold(),
    letGo: () => own?.letGo() ?? true,
  };
}

export function ownLaneHost(control: ControlSet, look: MainLook): OwnLaneHost {
  return {
    watch: (fd, onReady) => control.add(fd, { onReady }),
    unwatch: (fd) => control.remove(fd),
    lookSoon: () => look.soon(),
  };
}
