// Which network, NICs and sockets the channels of a run used.

import { formatCpuList } from '../../base/cpu-set.js';
import { fail, pass, STOPS_THE_RUN, skip, type Verdict, warn } from '../rule.js';
import { type RunFacts, type RunRule, socketsPerChannel } from '../run-facts.js';
import { channelsByNic } from '../view/summary-text.js';
import { judgeList, LIST_VARIABLE as LIST, LIST_REMEDY } from './interface-list.js';

export const oneNicRule: RunRule = {
  id: 'channels.one-nic',
  area: 'run',
  title: 'Channels are spread over the NICs',
  why: 'Channels on one NIC share its link, its queues and its interrupts; others stay idle.',
  remedy: `Name all NICs of the process in ${LIST}, or one process per GPU with its own NIC.`,
  proof: 'tcpx topo',
  experiment: 'The run with as many channels as NICs, one on each.',
  confidence: 0.8,
  check(facts): Verdict {
    const byNic = channelsByNic(facts.run);
    const [only] = byNic;
    if (only === undefined) return skip('the log does not say which NIC a channel has');
    const channels = only[1];
    if (byNic.size > 1 || channels.length < 2) return pass(`${byNic.size} NICs are used`);
    const known = Math.max(facts.dataNics.length, facts.run.nccl.devices.length);
    if (known < 2) return pass('there is one NIC');
    const list = formatCpuList(channels);
    const text = `channels ${list} all on ${only[0]}; the host has ${known} NICs`;
    return { ...warn(text), gainPercent: (known - 1) * 100 };
  },
};

export const fallbackRule: RunRule = {
  id: 'network.fallback',
  area: 'run',
  title: 'NCCL uses the plugin where its variables are set',
  why: 'A plugin that is missing or refuses leaves plain sockets: slower, and no word at the end.',
  remedy: 'Put the plugin’s folder first in LD_LIBRARY_PATH; it must not be mounted noexec.',
  proof: 'tcpx plugin check',
  experiment: 'The run with NCCL_DEBUG=INFO: it must say Using network GPUDirectTCPX_v7.',
  confidence: 0.95,
  gainPercent: 300,
  check({ run, environment }): Verdict {
    const { network } = run.nccl;
    if (network === undefined) return skip('the log does not name a network');
    const isMeant = Object.keys(environment).some((name) => name.startsWith('NCCL_GPUDIRECTTCPX'));
    if (network !== 'Socket' || !isMeant) return pass(`network ${network}`);
    return fail('NCCL uses Socket, though variables of the plugin are set');
  },
};

export const directRule: RunRule = {
  id: 'network.staged',
  area: 'run',
  title: 'Channels reach GPU memory directly',
  why: 'A channel without it copies each byte through host memory.',
  remedy: 'NCCL_NET_GDR_LEVEL=PIX or wider; a NIC behind the GPU’s own switch.',
  proof: 'tcpx topo',
  experiment: 'The run with NCCL_NET_GDR_LEVEL=SYS.',
  confidence: 0.7,
  gainPercent: 80,
  check({ run, isPlugin }): Verdict {
    const channels = run.nccl.channels.filter(({ network }) => network !== 'Socket');
    if (!isPlugin || channels.length === 0) return skip('no channel over the plugin in the log');
    const staged = channels.filter(({ isDirect }) => !isDirect);
    if (staged.length === 0) return pass(`${channels.length} channels`);
    return warn(`${staged.length} of ${channels.length} channels without GDRDMA`);
  },
};

export const interfacesRule: RunRule = {
  id: 'run.interfaces',
  area: 'run',
  title: 'The interface list names NICs of this host',
  why:
    'Without a list the plugin takes what it finds, the control NIC too; a wrong one leaves ' +
    'none.',
  remedy: LIST_REMEDY,
  proof: 'tcpx topo',
  experiment: 'The run with the list that tcpx env prints.',
  confidence: 0.9,
  gainPercent: STOPS_THE_RUN / 2,
  check({ run, environment, host, isPlugin, isEnvironmentKnown }): Verdict {
    const none = run.nccl.events.find(({ id }) => id === 'no-interface');
    if (none !== undefined) return fail(`the plugin found none: ${none.first}`);
    if (!isPlugin || isEnvironmentKnown === false || run.bench !== undefined) {
      return skip('the variables of the run are not known, or not needed');
    }
    const text = environment[LIST];
    if (text === undefined || text === '')
      return { ...warn(`${LIST} is not set`), gainPercent: 20 };
    if (host.nics.length === 0) return skip('NICs of the host are not in the bundle');
    const names = host.nics.map(({ name }) => name);
    const verdict = judgeList(text, names);
    return verdict.status === 'warn' ? { ...verdict, gainPercent: 50 } : verdict;
  },
};

export const singleSocketRule: RunRule = {
  id: 'sockets.single',
  area: 'run',
  title: 'A channel has more than one socket',
  why: 'One stream is carried by one core and one queue; a fast NIC needs several.',
  remedy: 'NCCL_NSOCKS_PERTHREAD=4 with one channel, 2 with two: at most 8 sockets per NIC.',
  proof: 'ss -tn state established',
  experiment: 'The run with 1, 2 and 4 sockets per thread.',
  confidence: 0.6,
  gainPercent: 60,
  check(facts: RunFacts): Verdict {
    const sockets = socketsPerChannel(facts);
    if (sockets === undefined) return skip('sockets per channel are not known');
    return sockets > 1 ? pass(`${sockets} per channel`) : warn('one socket per channel');
  },
};
