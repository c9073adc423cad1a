// The NICs that carry data: link, errors, MTU and steering.

import type { HostModel, Nic } from '../../host/read/model.js';
import type { DoctorFacts } from '../facts.js';
import { fail, pass, type Rule, skip, type Verdict, warn, worst } from '../rule.js';

const JUMBO_MTU = 8000;
export const FAST_MBPS = 100_000;

const ERROR_COUNTERS = [
  'rx_errors',
  'tx_errors',
  'rx_devmem_dropped',
  'rx_no_buffers_posted',
  'rx_buf_alloc_fail',
  'tx_timeouts',
  'reset_cnt',
] as const;
/** Those that the kernel keeps for every interface; the others are the driver's. */
const KERNEL_COUNTERS = ['rx_errors', 'tx_errors'] as const;

/** Rules about data NICs have nothing to say where none was found; that is no fault by itself. */
export function noDataNic({ host }: DoctorFacts): Verdict {
  if (host.nics.length === 0) return skip('no interface could be read');
  const names = host.nics.map(({ name }) => name).join(', ');
  return skip(`no data NIC among ${names}; name them with --nics`);
}

export const linkRule: Rule = {
  id: 'nic.link',
  area: 'system',
  title: 'Data NICs are up and have a link',
  why: 'A NIC without a link is skipped or, worse, connected to by another route.',
  remedy: 'ip link set NIC up; check the cable or the virtual network.',
  proof: 'ip -br link',
  check: (facts) => worst(facts.dataNics.map(linkPart), noDataNic(facts)),
};

// Some drivers report `unknown` as the state: then the carrier alone decides.
function linkPart(nic: Nic): Verdict {
  const { name, operState, hasCarrier } = nic;
  if (hasCarrier === false) return fail(`${name} has no link`);
  if (operState === 'up' || (operState === 'unknown' && hasCarrier === true)) {
    const speed = nic.speedMbps === undefined ? 'speed unknown' : `${nic.speedMbps / 1000} Gbit/s`;
    return pass(`${name} is up, ${nic.driver ?? 'driver unknown'}, ${speed}`);
  }
  if (operState === undefined || operState === 'unknown') {
    return skip(`${name}: link state unknown (operstate, carrier)`);
  }
  return fail(`${name} is ${operState}`);
}

export const countersRule: Rule = {
  id: 'nic.counters',
  area: 'system',
  title: 'No drops, errors or resets on data NICs',
  why:
    'Drops cost retransmissions; a device reset also throws away flow rules, device-memory ' +
    'queues and interrupt bindings.',
  remedy: 'Watch the counter during a run; more buffers (ethtool -G) help against missing buffers.',
  proof: 'tcpx watch',
  check(facts): Verdict {
    if (facts.dataNics.length === 0) return noDataNic(facts);
    const parts = facts.dataNics.flatMap(counterParts);
    return worst([...parts, ...softnetParts(facts.host)], pass('none since boot'));
  },
};

function counterParts(nic: Nic): Verdict[] {
  const counters = { ...nic.statistics, ...nic.ethtool?.statistics };
  const bad = ERROR_COUNTERS.filter((name) => (counters[name] ?? 0) > 0);
  if (bad.length > 0) {
    return bad.map((name) => warn(`${nic.name} counted ${counters[name] ?? '?'} ${name}`));
  }
  const unknown = KERNEL_COUNTERS.filter((name) => counters[name] === undefined);
  const missing = [
    ...(unknown.length > 0 ? [skip(`${nic.name}: ${unknown.join(', ')} not readable`)] : []),
    ...(nic.ethtool === undefined ? [skip(`${nic.name}: driver statistics not readable`)] : []),
  ];
  return missing.length > 0 ? missing : [pass(`${nic.name}: no error since boot`)];
}

function softnetParts({ softnet }: HostModel): Verdict[] {
  if (softnet.length === 0) return [skip('softnet drops not readable (/proc/net/softnet_stat)')];
  const dropped = softnet.reduce((sum, cpu) => sum + cpu.dropped, 0);
  return dropped > 0 ? [warn(`softnet dropped ${dropped} packets (backlog full)`)] : [];
}

export const mtuRule: Rule = {
  id: 'nic.mtu',
  area: 'system',
  title: 'MTU is large and the same on all data NICs',
  why:
    'Packets per second limit a fast NIC: 8244 bytes instead of 1460 are a fifth of the packets. ' +
    'Unequal values make NICs unequal.',
  remedy: 'ip link set NIC mtu 8244 on both ends, where the network carries it.',
  proof: 'ping -M do -s 8216 PEER',
  check(facts): Verdict {
    const { dataNics } = facts;
    const sizes = new Set(dataNics.flatMap(({ mtu }) => mtu ?? []));
    if (sizes.size > 1) {
      return warn('data NICs differ', ...dataNics.map(({ name, mtu }) => `${name}: ${mtu ?? '?'}`));
    }
    return worst(dataNics.map(mtuPart), noDataNic(facts));
  },
};

function mtuPart({ name, mtu, speedMbps }: Nic): Verdict {
  if (mtu === undefined) return skip(`${name}: MTU unknown`);
  if (mtu >= JUMBO_MTU) return pass(`${name}: ${mtu}`);
  if (speedMbps === undefined) {
    return skip(`${name}: ${mtu}, whether that is small depends on its speed, which is unknown`);
  }
  const text = `${name}: ${mtu} at ${speedMbps / 1000} Gbit/s`;
  return speedMbps >= FAST_MBPS ? warn(`${text} is small`) : pass(text);
}

export const steeringRule: Rule = {
  id: 'nic.steering',
  area: 'system',
  title: 'The kernel does not move packets to other CPUs behind the plan',
  why:
    'RPS and threaded NAPI process packets on CPUs that interrupt affinity does not choose, so a ' +
    'binding has no effect.',
  remedy: 'echo 0 > /sys/class/net/NIC/queues/rx-Q/rps_cpus; echo 0 > /sys/class/net/NIC/threaded.',
  proof: 'cat /sys/class/net/NIC/threaded /sys/class/net/NIC/queues/rx-*/rps_cpus',
  check: (facts) => worst(facts.dataNics.flatMap(steeringParts), noDataNic(facts)),
};

function steeringParts(nic: Nic): Verdict[] {
  const { name, rxSteering } = nic;
  const active = rxSteering.filter(({ rpsCpus }) => (rpsCpus?.length ?? 0) > 0).length;
  const bad = [
    ...(active > 0 ? [warn(`${name} spreads ${active} queues by RPS`)] : []),
    ...(nic.isThreadedNapi === true ? [warn(`${name} uses threaded NAPI`)] : []),
  ];
  if (bad.length > 0) return bad;
  const unread = rxSteering.filter(({ rpsCpus }) => rpsCpus === undefined).length;
  const missing = [
    ...(nic.rxQueueCount === undefined ? ['its queues'] : []),
    ...(unread > 0 ? [`RPS of ${unread} queues`] : []),
    ...(nic.isThreadedNapi === undefined ? ['threaded NAPI'] : []),
  ];
  if (missing.length > 0) return [skip(`${name}: ${missing.join(', ')} not readable`)];
  return [pass(`${name}: RPS and threaded NAPI are off`)];
}
