// What held the connections of a run back: loss, drops, windows, buffers.

import { formatBytes, formatUs } from '../../base/units.js';
import { pass, skip, type Verdict, warn } from '../rule.js';
import type { RunRule } from '../run-facts.js';

const SQUEEZE_SHARE_MAX = 0.01;

export const softnetRule: RunRule = {
  id: 'softnet.drops',
  area: 'run',
  title: 'The kernel dropped no packets before TCP',
  why: 'A full backlog drops what the NIC has delivered; TCP sends it again at half the speed.',
  remedy: 'sysctl -w net.core.netdev_max_backlog=30000 net.core.netdev_budget=600; more queues.',
  proof: 'tcpx watch',
  experiment: 'The run with the larger backlog: the counter must stand still.',
  confidence: 0.85,
  gainPercent: 40,
  check({ run }): Verdict {
    const { dropped, timeSqueeze, processed } = run.end.softnet;
    if (dropped === undefined) return skip('not counted around the run');
    if (dropped > 0) return warn(`${dropped} packets dropped of ${processed ?? '?'}`);
    const share = (timeSqueeze ?? 0) / Math.max(processed ?? 0, 1);
    if (share <= SQUEEZE_SHARE_MAX) return pass('none');
    const text = `out of time ${timeSqueeze ?? 0} times for ${processed ?? 0} packets`;
    return { ...warn(text), gainPercent: 10 };
  },
};

const RETRANSMIT_SHARE_MAX = 0.001;

export const resentRule: RunRule = {
  id: 'tcp.resent',
  area: 'run',
  title: 'Few segments of the run were sent twice',
  why: 'Each loss costs a window; one in a thousand is enough to halve a long path.',
  remedy: 'Find the drop: tcpx nic diff, softnet, the switch, limits of the virtual network.',
  proof: 'tcpx nic diff BUNDLE BUNDLE',
  experiment: 'The run with half the channels: does the share fall?',
  confidence: 0.8,
  gainPercent: 35,
  check({ run }): Verdict {
    const again = run.end.tcp['RetransSegs'];
    const sent = run.end.tcp['OutSegs'];
    if (again === undefined || sent === undefined) return skip('not counted around the run');
    if (sent === 0) return skip('no segment was sent');
    const share = again / sent;
    const text = `${again} of ${sent} segments (${(share * 100).toFixed(3)} %)`;
    return share > RETRANSMIT_SHARE_MAX ? warn(text) : pass(text);
  },
};

/** As near as this to what one window per round trip allows. */
const WINDOW_NEAR = 0.8;

export const windowRttRule: RunRule = {
  id: 'tcp.window',
  area: 'run',
  title: 'The window is larger than what is on its way',
  why: 'A channel carries at most one window per round trip, whatever link and cores can do.',
  remedy: 'Raise flow.windowChunks or flow.chunkBytes until window ÷ round trip exceeds the link.',
  proof: 'tcpx bench client PEER --window 64',
  experiment: 'The run with twice the window: the bandwidth must nearly double.',
  confidence: 0.75,
  gainPercent: 100,
  check({ run }): Verdict {
    const { bench } = run;
    const rtts = (bench?.channels ?? []).map(({ rttMinUs }) => rttMinUs).filter((us) => us > 0);
    if (bench?.windowBytes === undefined || rtts.length === 0) {
      return skip('window and round trip of the channels are not known');
    }
    const rttUs = Math.min(...rtts);
    const most = (bench.windowBytes / rttUs) * 1e6 * bench.channels.length;
    const rate = bench.busGBps * 1e9;
    const text =
      `${formatBytes(bench.windowBytes)} per ${formatUs(rttUs)} and channel allow ` +
      `${(most / 1e9).toFixed(2)} GB/s, measured ${bench.busGBps.toFixed(2)}`;
    return rate >= most * WINDOW_NEAR ? warn(text) : pass(text);
  },
};

const LIMITED_SHARE_MAX = 0.2;

export const limitedRule: RunRule = {
  id: 'tcp.limited',
  area: 'run',
  title: 'Socket buffers do not hold connections back',
  why: 'The kernel counts how long a connection could not send for want of buffer, at either end.',
  remedy:
    'sysctl -w net.ipv4.tcp_wmem="4096 1048576 67108864" net.ipv4.tcp_rmem="4096 1048576 ' +
    '15728640"; where the receiver holds back with large buffers, its consumer is slow.',
  proof: 'sysctl net.ipv4.tcp_rmem net.ipv4.tcp_wmem',
  experiment: 'The run with --socket-buffer 16MiB.',
  confidence: 0.8,
  gainPercent: 45,
  check({ run }): Verdict {
    const channels = (run.bench?.channels ?? []).filter(({ busyUs }) => busyUs > 0);
    if (channels.length === 0) return skip('no connection of the run was asked');
    const share = (name: 'sendBufferLimitedUs' | 'receiveLimitedUs') =>
      Math.max(...channels.map((channel) => channel[name] / channel.busyUs));
    const send = share('sendBufferLimitedUs');
    const receive = share('receiveLimitedUs');
    const percent = (value: number) => `${(value * 100).toFixed(0)} %`;
    const lines = [
      ...(send > LIMITED_SHARE_MAX ? [`send buffer full ${percent(send)} of the busy time`] : []),
      ...(receive > LIMITED_SHARE_MAX
        ? [`receiver’s window closed ${percent(receive)} of the busy time`]
        : []),
    ];
    return lines.length === 0 ? pass('neither end') : warn(...lines);
  },
};
