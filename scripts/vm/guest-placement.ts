// Lanes, their rings and their memory beside their NICs, on a host with two nodes: an engine with a
// NIC of each, and where the kernel has put what.

import { readFileSync } from 'node:fs';
import { parseCpuList } from '../../src/base/cpu-set.js';
import { Engine } from '../../src/engine/engine.js';
import { openFolderFiles } from '../../src/host/read/host-files.js';
import { readNicNodes } from '../../src/host/read/nic-nodes.js';
import { check } from './guest-host.js';

/** NICs 0 and 1 hang below node 0, NICs 2 and 3 below node 1. */
const NICS = 'eth0,eth2';
const NODES = [0, 1];

export async function checkPlacement(): Promise<void> {
  const cpusOf = NODES.map((node) => {
    return parseCpuList(readFileSync(`/sys/devices/system/node/node${node}/cpulist`, 'utf8'));
  });
  await withLanes({ 'session.nics': NICS }, (lanes, maps) => {
    const { nodeOf } = readNicNodes(openFolderFiles('/'), NICS.split(','));
    const detail = JSON.stringify({ lanes, nics: [...nodeOf] });
    check(
      'each lane may run on the CPUs of its NIC’s node alone, and does',
      NODES.every((node) => {
        const lane = lanes[node];
        const isPinned = JSON.stringify(lane?.pinnedTo) === JSON.stringify(cpusOf[node]);
        return isPinned && cpusOf[node]?.includes(lane?.cpu ?? -1) === true;
      }),
      detail,
    );
    check(
      'what a lane maps lies on the node of its NIC',
      NODES.every((node) => lanes[node]?.memoryNode === node),
      detail,
    );
    for (const node of NODES) {
      const rings = preferring(maps, node);
      const own = rings.reduce((sum, line) => sum + pagesOn(line, node), 0);
      const other = rings.reduce((sum, line) => sum + pagesOn(line, 1 - node), 0);
      check(
        `rings of node ${node} have pages there and none elsewhere`,
        own > 0 && other === 0,
        maps,
      );
    }
  });
  for (const settings of [{ 'session.nics': NICS, 'lane.numa': 'off' as const }, {}]) {
    await withLanes(settings, (lanes, maps) => {
      const isFree = lanes.every((lane) => {
        return lane.pinnedTo.length === 0 && lane.memoryNode === undefined;
      });
      const isLeft = NODES.every((node) => preferring(maps, node).length === 0);
      check(`${JSON.stringify(settings)}: nothing is bound`, isFree && isLeft);
    });
  }
}

type Settings = { readonly 'session.nics'?: string; readonly 'lane.numa'?: 'off' };

async function withLanes(
  settings: Settings,
  use: (lanes: ReturnType<Engine['laneStats']>, maps: string) => void,
): Promise<void> {
  const engine = await Engine.open({
    settings: { 'lane.count': NODES.length, 'flow.channels': NODES.length, ...settings },
  });
  try {
    use(engine.laneStats(), readFileSync('/proc/self/numa_maps', 'utf8'));
  } finally {
    await engine.close();
  }
}

/** Mappings with a preference of their own: threads have theirs elsewhere. */
function preferring(maps: string, node: number): string[] {
  return maps.split('\n').filter((line) => new RegExp(`^\\S+ prefer[^ ]*:${node} `).test(line));
}

function pagesOn(line: string, node: number): number {
  return Number(new RegExp(` N${node}=(\\d+)`).exec(line)?.[1] ?? 0);
}
