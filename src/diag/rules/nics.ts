// The NICs that carry data: link, errors, MTU, steering, buffers and TCP settings.

import type { Nic } from '../../host/read/model.js';
import { fail, pass, type Rule, skip, type Verdict, warn, worst } from '../rule.js';

const JUMBO_MTU = 8000;
const FAST_MBPS = 100_000;
/** A sender at 200 Gbit/s over 1 ms needs 25 MB; the reference machine allows 64 MiB and 15 MiB. */
const WMEM_BYTES_WANTED = 64 * 1024 ** 2;
const RMEM_BYTES_WANTED = 15 * 1024 ** 2;
const RETRANSMIT_SHARE_MAX = 0.01;

const ERROR_COUNTERS = [
  'rx_errors',
  'tx_errors',
  'rx_devmem_dropped',
  'rx_no_buffers_posted',
  'rx_buf_alloc_fail',
  'tx_timeouts',
  'reset_cnt',
] as const;

export const linkRule: Rule = {
  id: 'nic.link',
  area: 'system',
  title: 'Data NICs are up and have a link',
  why: 'A NIC without a link is skipped or, worse, connected to by another route.',
  remedy: 'ip link set NIC up; check the cable or the virtual network.',
  proof: 'ip -br link',
  check: ({ dataNics }) => worst(dataNics.map(linkPart), fail('no data NIC')),
};

function linkPart(nic: Nic): Verdict {
  const isUp = nic.operState === 'up' && nic.hasCarrier !== false;
  const speed = nic.speedMbps === undefined ? '' : `, ${nic.speedMbps / 1000} Gbit/s`;
  if (isUp) return pass(`${nic.name}: up, ${nic.driver ?? 'no driver'}${speed}`);
  return fail(`${nic.name}: ${nic.operState ?? 'unknown'}, carrier ${nic.hasCarrier ?? 'unknown'}`);
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
  check({ dataNics, host }): Verdict {
    const bad = dataNics.flatMap((nic) => {
      const counters = { ...nic.statistics, ...nic.ethtool?.statistics };
      return ERROR_COUNTERS.filter((name) => (counters[name] ?? 0) > 0).map(
        (name) => `${nic.name} ${name} ${counters[name] ?? 0} since boot`,
      );
    });
    const dropped = host.softnet.reduce((sum, cpu) => sum + cpu.dropped, 0);
    if (dropped > 0) bad.push(`softnet dropped ${dropped} packets (backlog full)`);
    return bad.length === 0 ? pass('none since boot') : warn(...bad);
  },
};

export const mtuRule: Rule = {
  id: 'nic.mtu',
  area: 'system',
  title: 'MTU is large and the same on all data NICs',
  why:
    'Packets per second limit a fast NIC: 8244 bytes instead of 1460 are a fifth of the packets. ' +
    'Unequal values make NICs unequal.',
  remedy: 'ip link set NIC mtu 8244 on both ends, where the network carries it.',
  proof: 'ping -M do -s 8216 PEER',
  check({ dataNics }): Verdict {
    const known = dataNics.filter((nic) => nic.mtu !== undefined);
    const sizes = new Set(known.map((nic) => nic.mtu));
    const lines = known.map((nic) => `${nic.name}: ${nic.mtu ?? 0}`);
    if (known.length === 0) return skip('no MTU could be read');
    if (sizes.size > 1) return warn('data NICs differ', ...lines);
    const isFast = known.some((nic) => (nic.speedMbps ?? 0) >= FAST_MBPS);
    const isSmall = known.some((nic) => (nic.mtu ?? 0) < JUMBO_MTU);
    return isFast && isSmall ? warn('small for a fast NIC', ...lines) : pass(...lines);
  },
};

export const steeringRule: Rule = {
  id: 'nic.steering',
  area: 'system',
  title: 'The kernel does not move packets to other CPUs behind the plan',
  why:
    'RPS and threaded NAPI process packets on CPUs that interrupt affinity does not choose, so a ' +
    'binding has no effect.',
  remedy: 'echo 0 > /sys/class/net/NIC/queues/rx-Q/rps_cpus; echo 0 > /sys/class/net/NIC/threaded.',
  proof: 'tcpx topo --json',
  check({ dataNics }): Verdict {
    const bad = dataNics.flatMap((nic) => {
      const rps = nic.rxSteering.filter(({ rpsCpus }) => rpsCpus.length > 0).length;
      return [
        ...(rps > 0 ? [`${nic.name}: RPS on ${rps} queues`] : []),
        ...(nic.isThreadedNapi === true ? [`${nic.name}: threaded NAPI`] : []),
      ];
    });
    return bad.length === 0 ? pass('RPS and threaded NAPI are off') : warn(...bad);
  },
};

export const buffersRule: Rule = {
  id: 'tcp.buffers',
  area: 'system',
  title: 'TCP may open its windows far enough',
  why: 'A stream carries at most one buffer per round trip.',
  remedy:
    'sysctl -w net.ipv4.tcp_rmem="4096 1048576 15728640" net.ipv4.tcp_wmem="4096 1048576 67108864"',
  proof: 'sysctl net.ipv4.tcp_rmem net.ipv4.tcp_wmem',
  check({ host: { limits }, dataNics }): Verdict {
    const isFast = dataNics.some((nic) => (nic.speedMbps ?? 0) >= FAST_MBPS);
    const scale = isFast ? 1 : 1 / 16;
    const part = (name: string, values: readonly number[] | undefined, wanted: number) => {
      const max = values?.[2];
      if (max === undefined) return skip(`${name} not readable`);
      const text = `${name} ends at ${max}`;
      return max >= wanted * scale ? pass(text) : warn(`${text}, wanted ${wanted * scale}`);
    };
    return worst(
      [
        part('tcp_rmem', limits.tcpRmemBytes, RMEM_BYTES_WANTED),
        part('tcp_wmem', limits.tcpWmemBytes, WMEM_BYTES_WANTED),
      ],
      skip('not readable'),
    );
  },
};

export const congestionRule: Rule = {
  id: 'tcp.congestion',
  area: 'system',
  title: 'Congestion control is known and restarts at full speed',
  why:
    'A default other than cubic makes measurements incomparable, and slow start after idle ' +
    'throttles every burst of blocks.',
  remedy:
    'sysctl -w net.ipv4.tcp_slow_start_after_idle=0; choose with --congestion cubic, or set ' +
    'net.ipv4.tcp_congestion_control.',
  proof: 'sysctl net.ipv4.tcp_congestion_control net.ipv4.tcp_slow_start_after_idle',
  check({ host: { limits } }): Verdict {
    const name = limits.congestionControl;
    const idle = limits.sysctls['net.ipv4.tcp_slow_start_after_idle'];
    const problems: string[] = [];
    if (name !== undefined && name !== 'cubic') problems.push(`default is ${name}, not cubic`);
    if (idle === '1') problems.push('tcp_slow_start_after_idle is 1');
    if (problems.length > 0) return warn(...problems);
    return name === undefined ? skip('not readable') : pass(name);
  },
};

export const retransmitRule: Rule = {
  id: 'tcp.retransmits',
  area: 'system',
  title: 'Few segments are sent twice',
  why: 'Each loss halves a window; a percent of retransmissions is a bandwidth problem by itself.',
  remedy: 'Find the drop: NIC counters, softnet, switch or hypervisor limits.',
  proof: 'tcpx watch',
  check({ host: { tcpCounters } }): Verdict {
    const sent = tcpCounters['OutSegs'];
    const again = tcpCounters['RetransSegs'];
    if (sent === undefined || again === undefined || sent === 0) return skip('no TCP counters');
    const share = again / sent;
    const text = `${again} of ${sent} segments since boot (${(share * 100).toFixed(3)} %)`;
    return share > RETRANSMIT_SHARE_MAX ? warn(text) : pass(text);
  },
};
