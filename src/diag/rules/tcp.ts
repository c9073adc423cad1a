// TCP settings of the host and what its counters say.

import type { Nic } from '../../host/read/model.js';
import { pass, type Rule, skip, type Verdict, warn, worst } from '../rule.js';
import { EMULATED_NETWORK } from './devmem.js';
import { FAST_MBPS } from './nics.js';

/** A sender at 200 Gbit/s over 1 ms needs 25 MB; the reference machine allows 64 MiB and 15 MiB. */
const WMEM_BYTES_WANTED = 64 * 1024 ** 2;
const RMEM_BYTES_WANTED = 15 * 1024 ** 2;
const SLOW_SHARE = 1 / 16;
const RETRANSMIT_SHARE_MAX = 0.01;

export const buffersRule: Rule = {
  id: 'tcp.buffers',
  area: 'system',
  title: 'TCP may open its windows far enough',
  why: 'A stream carries at most one buffer per round trip.',
  remedy:
    'sysctl -w net.ipv4.tcp_rmem="4096 1048576 15728640" net.ipv4.tcp_wmem="4096 1048576 67108864"',
  proof: 'sysctl net.ipv4.tcp_rmem net.ipv4.tcp_wmem',
  check({ host: { limits }, dataNics }): Verdict {
    const isFast = isAnyFast(dataNics);
    return worst(
      [
        bufferPart('tcp_rmem', limits.tcpRmemBytes, RMEM_BYTES_WANTED, isFast),
        bufferPart('tcp_wmem', limits.tcpWmemBytes, WMEM_BYTES_WANTED, isFast),
      ],
      skip('not readable'),
    );
  },
};

/** undefined when no NIC is known to be fast and some speeds are unknown. */
function isAnyFast(nics: readonly Nic[]): boolean | undefined {
  if (nics.some(({ speedMbps }) => (speedMbps ?? 0) >= FAST_MBPS)) return true;
  return nics.length === 0 || nics.some((nic) => nic.speedMbps === undefined) ? undefined : false;
}

function bufferPart(
  name: string,
  values: readonly number[] | undefined,
  wanted: number,
  isFast: boolean | undefined,
): Verdict {
  const max = values?.[2];
  if (max === undefined || Number.isNaN(max)) return skip(`${name} not readable`);
  const text = `${name} ends at ${max}`;
  const slowWanted = wanted * SLOW_SHARE;
  if (max >= wanted) return pass(text);
  if (max < slowWanted) return warn(`${text}, wanted ${isFast === true ? wanted : slowWanted}`);
  if (isFast === undefined) return skip(`${text}: enough or not by the speed, which is unknown`);
  return isFast ? warn(`${text}, wanted ${wanted}`) : pass(text);
}

export const congestionRule: Rule = {
  id: 'tcp.congestion',
  area: 'system',
  title: 'Congestion control is known and restarts at full speed',
  why:
    'A default other than cubic makes measurements of other programs incomparable (our own data ' +
    'sockets leave BBR for near peers by themselves), and slow start after idle throttles every ' +
    'burst of blocks.',
  remedy:
    'sysctl -w net.ipv4.tcp_slow_start_after_idle=0; choose with --congestion cubic, or set ' +
    'net.ipv4.tcp_congestion_control.',
  proof: 'sysctl net.ipv4.tcp_congestion_control net.ipv4.tcp_slow_start_after_idle',
  check({ host: { limits }, plugin, provider }): Verdict {
    if (provider === 'tcpx' && plugin.isEmulator === true) return skip(EMULATED_NETWORK);
    const name = limits.congestionControl;
    const idle = limits.sysctls['net.ipv4.tcp_slow_start_after_idle'];
    const parts = [
      name === undefined
        ? skip('the default congestion control is not readable')
        : name === 'cubic'
          ? pass(name)
          : warn(`default is ${name}, not cubic`),
      idle === undefined
        ? skip('tcp_slow_start_after_idle is not readable')
        : idle === '0'
          ? pass('no slow start after idle')
          : warn(`tcp_slow_start_after_idle is ${idle}`),
    ];
    return worst(parts, skip('not readable'));
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
    if (sent === undefined || again === undefined) return skip('no TCP counters could be read');
    if (sent === 0) return skip('no segment was sent since boot');
    const share = again / sent;
    const text = `${again} of ${sent} segments since boot (${(share * 100).toFixed(3)} %)`;
    return share > RETRANSMIT_SHARE_MAX ? warn(text) : pass(text);
  },
};
