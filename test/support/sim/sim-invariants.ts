// What must hold after every step of a lane, and what must be left when everything has ended.

import type { RecordRing } from '../../../src/os/record-ring.js';
import type { LaneCore } from '../../../src/provider/tcp/lane/lane-core.js';
import type { Machine } from './sim-job.js';
import type { SimNetwork } from './sim-network.js';
import type { SimPlugin } from './sim-plugin.js';
import { Violation } from './violation.js';

/** Windows and queues of the channels of a lane. */
export function checkWindows(machine: string, core: LaneCore): void {
  for (const list of [core.channels, core.parked, core.leaving]) {
    for (const channel of list) {
      const counts = [
        channel.writes.next - channel.writes.acked,
        channel.reads.next - channel.reads.done,
        channel.served.tail - channel.served.framed,
        channel.refusals.count,
      ].map((count) => count | 0);
      if (counts.every((count) => count >= 0 && count <= channel.windowChunks)) continue;
      throw new Violation(
        `${machine}: channel ${channel.channelIndex} beyond its window: ${counts.join(' ')}`,
      );
    }
  }
}

/** What a lane lets its peers have on their way: never more than it takes, or a chunk of each. */
export function checkCredits(machine: string, core: LaneCore): void {
  let grantedBytes = 0;
  let leastBytes = 0;
  for (const channel of core.channels) {
    const { windowChunks, chunkBytesMax } = channel;
    const { granted, chunks } = channel.credit;
    grantedBytes += granted * chunkBytesMax;
    leastBytes += chunkBytesMax;
    if (Math.min(granted, chunks) >= 1 && Math.max(granted, chunks) <= windowChunks) continue;
    throw new Violation(`${machine}: credit of ${granted} given, ${chunks} had`);
  }
  if (grantedBytes > Math.max(core.receiveBytes, leastBytes)) {
    throw new Violation(`${machine}: ${grantedBytes} bytes granted of ${core.receiveBytes}`);
  }
}

/** Whether anything of a machine is still in use, in words. */
export function whatIsLeft(machine: Machine, network: SimNetwork): string | undefined {
  const { node, memory, name } = machine;
  const left: [string, number][] = [
    ['sessions', node.sessions.list().length],
    ['transfer entries', node.transfers.entriesUsed],
    ['arena bytes', node.core.arena.usedBytes],
    ['timers', node.timers.count],
    ['region users', memory.users()],
    ['regions being closed', memory.closing.size],
    ['control connections', node.controls.size],
    ['open ports', network.openPorts(name).length],
  ];
  if (node.plugin !== undefined) left.push(...leftOfPlugin(node.plugin, node.matchSockets.size));
  for (const { core } of node.lanes.inline) left.push(...leftInLane(core));
  return left.find(([, count]) => count !== 0)?.join(' ');
}

function leftOfPlugin(plugin: SimPlugin, connections: number): [string, number][] {
  return [
    ['flights', plugin.carriers.reduce((sum, { deck }) => sum + deck.count, 0)],
    ['plugin channels', plugin.channels.size],
    ['match connections', connections],
  ];
}

function leftInLane(core: LaneCore): [string, number][] {
  const sum = (count: (session: LaneCore['sessions'][number]) => number): number =>
    core.sessions.reduce((total, session) => total + count(session), 0);
  return [
    ['channels', core.channels.length],
    ['parked channels', core.parked.length],
    ['leaving channels', core.leaving.length],
    ['waiting transfers', sum((session) => (session.activeHead >= 0 ? 1 : 0))],
    ['waiting notifications', sum((session) => (session.notifyHead >= 0 ? 1 : 0))],
    ['waiting chunks', sum((session) => session.retries.length)],
    ['counted channels', sum((session) => session.openChannels)],
    ['commands', recordBytes(core.commands)],
    ['events', recordBytes(core.events)],
  ];
}

function recordBytes(ring: RecordRing): number {
  return ((ring.int32[ring.tailWord] ?? 0) - (ring.int32[ring.headWord] ?? 0)) | 0;
}
