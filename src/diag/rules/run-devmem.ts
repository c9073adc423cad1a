// Whether data came into device memory, and where it did not, which of the causes it was.

import { formatBytes } from '../../base/units.js';
import type { EventPlace, LogEvent } from '../parse/nccl-log.js';
import { fail, pass, STOPS_THE_RUN, skip, type Verdict } from '../rule.js';
import { numberVariable, type RunFacts, type RunRule, socketsPerChannel } from '../run-facts.js';
import { channelsByNic, DATA_BYTES_MIN } from '../view/summary-text.js';
import { noSuchLine } from './run-requests.js';

export const devmemStillRule: RunRule = {
  id: 'devmem.still',
  area: 'run',
  title: 'Device-memory packets grew on every NIC that received data',
  why: 'Bytes that come while this counter stands still went through host memory, or nowhere.',
  remedy: 'Look at steering rules and header split of that NIC; tcpx doctor --provider tcpx.',
  proof: 'tcpx nic diff BUNDLE BUNDLE',
  experiment: 'The same run over one NIC that counts, then over this one: tcpx trace diff.',
  confidence: 0.9,
  gainPercent: 200,
  check({ run, isPlugin }): Verdict {
    if (!isPlugin) return skip('the run did not go through the plugin');
    const counted = run.nics.filter(({ rx }) => rx.devmemPackets !== undefined);
    if (counted.length === 0) return skip('no device-memory packets were counted around the run');
    const hasGrown = counted.some(({ rx }) => (rx.devmemPackets ?? 0) > 0);
    const still = counted.filter(
      ({ rx }) => rx.devmemPackets === 0 && (rx.bytes ?? 0) > DATA_BYTES_MIN,
    );
    if (still.length === 0) return pass(`${counted.length} NICs were counted`);
    const lines = still.map(
      ({ nic, rx }) => `${nic}: 0 packets, ${formatBytes(rx.bytes ?? 0)} came`,
    );
    return fail(...lines, ...(hasGrown ? ['other NICs of the same run counted packets'] : []));
  },
};

const EXPERIMENT = 'tcpx plugin check with the same NIC; then the run between two hosts.';

/** One cause of "rx no cmsg": the first that fits is the finding, the others pass. */
function noCmsgRule(
  words: Pick<RunRule, 'id' | 'title' | 'why' | 'remedy' | 'proof'> & { confidence: number },
  cause: Cause,
): RunRule {
  return {
    ...words,
    area: 'run',
    experiment: EXPERIMENT,
    gainPercent: STOPS_THE_RUN,
    check(facts): Verdict {
      const event = facts.run.nccl.events.find(({ id }) => id === 'no-cmsg');
      if (event === undefined) return noSuchLine(facts);
      const found = causeOf(facts, event);
      if (found.cause !== cause) return pass(`the signs are of another cause: ${found.cause}`);
      return fail(`${event.count} times: ${event.first}`, ...placeLines(event), found.evidence);
    },
  };
}

type Cause = 'same host' | 'kernel' | 'sockets' | 'GPU and NIC' | 'steering' | 'not told';

function placeLines({ places }: LogEvent): readonly string[] {
  return places.slice(0, 8).map(({ host, gpu, nic, peer, count }) => {
    const who = `${host ?? 'host not named'}, GPU ${gpu ?? '?'}, ${nic ?? 'NIC not named'}`;
    return `${who}${peer === undefined ? '' : `, peer ${peer}`}: ${count}`;
  });
}

function causeOf(facts: RunFacts, { places, first }: LogEvent): { cause: Cause; evidence: string } {
  const local = places.find((place) => isLocalPeer(facts, place));
  if (local !== undefined || /\b127\.\d/.test(first)) {
    const evidence = `the peer ${local?.peer ?? 'at 127.0.0.1'} is this host`;
    return { cause: 'same host', evidence };
  }
  const { events } = facts.run.nccl;
  const has = (id: string) => events.find((event) => event.id === id);
  const unknown = has('unknown-cmsg');
  if (unknown !== undefined) return { cause: 'kernel', evidence: unknown.first };
  const crowded = crowdedNic(facts);
  if (crowded !== undefined) return { cause: 'sockets', evidence: crowded };
  const refused = has('rule-refused') ?? has('rxdm-absent') ?? has('rxdm-refused');
  if (refused !== undefined) return { cause: 'steering', evidence: refused.first };
  const far = places.map((place) => farNic(facts, place)).find((text) => text !== undefined);
  if (far !== undefined) return { cause: 'GPU and NIC', evidence: far };
  const waitUs = numberVariable(facts, 'NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS');
  if (waitUs !== undefined && waitUs < STEERING_WAIT_US) {
    return { cause: 'steering', evidence: `connections wait only ${waitUs} µs for their rule` };
  }
  return { cause: 'not told', evidence: 'nothing else in the bundle stands out' };
}

/** The shortest wait of a run that was seen to work. */
const STEERING_WAIT_US = 50_000;

function isLocalPeer({ run, host }: RunFacts, { peer }: EventPlace): boolean {
  if (peer === undefined) return false;
  const own = host.nics.flatMap(({ addresses }) => addresses ?? []).map(({ address }) => address);
  const isOwnEnd = run.nccl.flows.some(({ local }) => local === peer);
  return peer.startsWith('127.') || peer === '::1' || own.includes(peer) || isOwnEnd;
}

function crowdedNic(facts: RunFacts): string | undefined {
  const sockets = socketsPerChannel(facts) ?? 1;
  for (const [nic, channels] of channelsByNic(facts.run)) {
    const count = channels.length * sockets;
    if (count > facts.socketBudget) {
      const what = `${channels.length} channels of ${sockets} sockets are ${count}`;
      return `${nic}: ${what}; seen to work: ${facts.socketBudget}`;
    }
  }
  return undefined;
}

function farNic(facts: RunFacts, { gpu, nic }: EventPlace): string | undefined {
  if (gpu === undefined || nic === undefined) return undefined;
  const nearest = facts.run.nicOfGpu.get(gpu);
  if (nearest === undefined || nearest === nic) return undefined;
  return `GPU ${gpu} is behind ${nearest}, the connection is on ${nic}`;
}

export const NO_CMSG_RULES: readonly RunRule[] = [
  noCmsgRule(
    {
      id: 'no-cmsg.same-host',
      title: 'No connection goes to this host itself',
      why: 'Bytes to an own address never pass the NIC, so nothing puts them into device memory.',
      remedy: 'Test between two hosts; on one host use the tcp provider or shared memory.',
      proof: 'ip route get PEER',
      confidence: 0.95,
    },
    'same host',
  ),
  noCmsgRule(
    {
      id: 'no-cmsg.sockets',
      title: 'No NIC has more sockets than were seen to work',
      why: 'Beyond the budget the NIC’s rules and queues do not suffice for all flows.',
      remedy: 'Lower NCCL_NSOCKS_PERTHREAD or the channels per NIC, or spread GPUs over NICs.',
      proof: 'ss -tnp state established',
      confidence: 0.7,
    },
    'sockets',
  ),
  noCmsgRule(
    {
      id: 'no-cmsg.nic',
      title: 'Connections use the NIC behind which their GPU is',
      why: 'The receive manager binds a GPU’s memory to queues of its own NIC only.',
      remedy: 'Give each process its nearest NIC: tcpx topo, then SOCKET_IFNAME.',
      proof: 'tcpx topo',
      confidence: 0.8,
    },
    'GPU and NIC',
  ),
  noCmsgRule(
    {
      id: 'no-cmsg.steering',
      title: 'Every flow has its steering rule before data comes',
      why: 'Without a rule packets go to an ordinary queue, whose payload lands in host memory.',
      remedy:
        'Start the receive manager with the same socket folder; wait longer ' +
        '(NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS=500000).',
      proof: 'ethtool -n NIC',
      confidence: 0.8,
    },
    'steering',
  ),
  noCmsgRule(
    {
      id: 'no-cmsg.kernel',
      title: 'The kernel is the one that the plugin was made for',
      why: 'Another kernel marks device memory with other messages, or not at all.',
      remedy: 'Boot the image that Google names for GPUDirect-TCPX.',
      proof: 'uname -r',
      confidence: 0.9,
    },
    'kernel',
  ),
  noCmsgRule(
    {
      id: 'no-cmsg.other',
      title: 'Data comes into device memory',
      why: 'The plugin ends the process when bytes come without naming device memory.',
      remedy:
        'In order: a kernel without device memory, header split switched off, a NIC that was ' +
        'reset and lost its rules, a receive manager that was restarted.',
      proof: 'tcpx doctor --provider tcpx',
      confidence: 0.5,
    },
    'not told',
  ),
];
