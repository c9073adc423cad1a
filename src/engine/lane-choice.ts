// What the settings say about lanes: how many, how large their tables, how they wait, where they
// run.

import type { Config } from '../base/config.js';
import { parseLaneBindings } from '../base/lane-bindings.js';
import { openFolderFiles } from '../host/read/host-files.js';
import { readNicNodes } from '../host/read/nic-nodes.js';
import { allowedCpus } from '../os/thread.js';
import { cpusOfLanes, nodesOfLanes, withNodeCpus } from '../provider/tcp/lane-placement.js';
import type { LaneSetOptions } from '../provider/tcp/lane-set.js';
import { SIGNAL_ENTRIES } from '../provider/tcp/transfer-table.js';
import { listNics } from './socket-network.js';

type Chosen =
  | 'shape'
  | 'progress'
  | 'spinUs'
  | 'cpus'
  | 'nodes'
  | 'sendBy'
  | 'stallUs'
  | 'receiveBytes'
  | 'sendBytes'
  | 'spareTables';

/** `hasOwn`: one more than there are threads, of the thread that opens the engine. */
export function laneChoice(config: Config, hasOwn: boolean): Pick<LaneSetOptions, Chosen> {
  const { values } = config;
  return {
    shape: {
      regionCount: values['memory.regionsMax'],
      transferCount: values['memory.transfersMax'] + SIGNAL_ENTRIES,
      sessionCount: values['session.peersMax'],
      laneCount: values['lane.count'] + (hasOwn ? 1 : 0),
      arenaBytes: values['memory.arenaBytes'],
    },
    progress: values['lane.progress'],
    spinUs: values['lane.spinUs'],
    ...placementOf(config),
    sendBy: values['socket.sendBy'],
    stallUs: values['session.stallMs'] * 1000,
    receiveBytes: values['flow.receiveBytes'],
    sendBytes: values['flow.sendBytes'],
    spareTables: values['memory.spareTables'],
  };
}

// Where callers drive there is no thread of ours to place.
function placementOf(config: Config): Pick<LaneSetOptions, 'cpus' | 'nodes'> {
  const { values } = config;
  const [nics, count] = [listNics(config), values['lane.count']];
  const cpus = cpusOfLanes(parseLaneBindings(values['lane.bindings']), nics, count);
  const isLeft = values['lane.numa'] === 'off' || values['lane.progress'] === 'caller';
  if (isLeft || nics.length === 0) return { cpus, nodes: [] };
  const { nodeOf, cpusOf } = readNicNodes(openFolderFiles('/'), nics);
  const nodes = nodesOfLanes(nodeOf, nics, count);
  return { cpus: withNodeCpus(cpus, nodes, cpusOf, allowedCpus()), nodes };
}
