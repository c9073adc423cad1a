// What the settings say about lanes: how many, how large their tables, how they wait, where they
// run.

import type { Config } from '../base/config.js';
import { parseLaneBindings } from '../base/lane-bindings.js';
import { cpusOfLanes } from '../provider/tcp/lane-placement.js';
import type { LaneSetOptions } from '../provider/tcp/lane-set.js';
import { SIGNAL_ENTRIES } from '../provider/tcp/transfer-table.js';
import { listNics } from './socket-network.js';

type Chosen =
  | 'shape'
  | 'sessionCount'
  | 'progress'
  | 'spinUs'
  | 'cpus'
  | 'sendBy'
  | 'stallUs'
  | 'receiveBytes'
  | 'sendBytes';

export function laneChoice(config: Config): Pick<LaneSetOptions, Chosen> {
  const { values } = config;
  return {
    shape: {
      regionCount: values['memory.regionsMax'],
      transferCount: values['memory.transfersMax'] + SIGNAL_ENTRIES,
      laneCount: values['lane.count'],
      arenaBytes: values['memory.arenaBytes'],
    },
    sessionCount: values['session.peersMax'],
    progress: values['lane.progress'],
    spinUs: values['lane.spinUs'],
    cpus: cpusOfLanes(
      parseLaneBindings(values['lane.bindings']),
      listNics(config),
      values['lane.count'],
    ),
    sendBy: values['socket.sendBy'],
    stallUs: values['session.stallMs'] * 1000,
    receiveBytes: values['flow.receiveBytes'],
    sendBytes: values['flow.sendBytes'],
  };
}
