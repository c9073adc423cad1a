// `tcpx bench client HOST`: the initiator of a two-node benchmark.

import { checkAlone, measureGroup } from '../bench-group.js';
import { kvWorkload } from '../bench-kv.js';
import { measureRuns } from '../bench-runs.js';
import { ucclForm } from '../bench-uccl.js';
import { type Command, usageError } from '../command.js';
import {
  announce,
  BENCH_SETTINGS,
  BENCH_SHORT_FLAGS,
  benchListeners,
  MEASURE_FLAGS,
  NO_UNIX_FLAG,
} from './bench-loopback.js';

export const benchClientCommand: Command = {
  name: 'bench client',
  group: 'measure',
  summary: 'The initiator of a two-node benchmark: connects to HOST and measures.',
  positionals: 'HOST[,HOST...] [GPU]',
  positionalsMax: 2,
  positionalSetting: { index: 1, name: 'bench.gpu' },
  settings: [
    ...BENCH_SETTINGS,
    'bench.logDir',
    'session.port',
    'session.portIndex',
    'session.connectTimeoutMs',
    'session.handshakeTimeoutMs',
    'trust.mode',
    'trust.secretFile',
    'socket.userTimeoutMs',
  ],
  flags: [...MEASURE_FLAGS, NO_UNIX_FLAG],
  shortFlags: BENCH_SHORT_FLAGS,
  examples: [
    [
      'bench client 10.0.0.2 --secret-file tcpx.secret',
      'Writes 64 MiB at a time to the server there.',
    ],
    ['bench client 10.0.0.2 3', 'As UCCL’s benchmark: GPU 3, port 20003, 4 MiB ten times, logs.'],
    [
      'bench client 10.0.0.2,10.0.0.3 -t 10 --verify sample',
      'To two servers at once, a process for each.',
    ],
    [
      'bench client 10.0.0.2 -R -t 10 --nics eth1,eth2',
      'Reads from it for ten seconds, over two NICs.',
    ],
  ],
  async run(invocation) {
    const [host = ''] = invocation.positionals;
    if (host === '') throw usageError(benchClientCommand, 'which HOST?');
    const { log } = invocation;
    const form = await ucclForm(invocation.config, invocation.positionals.length > 1);
    const { config, kv } = await kvWorkload(benchClientCommand, {
      ...invocation,
      config: form.config,
    });
    announce(invocation, config);
    const port = config.values['session.port'] + config.values['session.portIndex'];
    const hosts = host.split(',');
    if (hosts.length > 1) {
      checkAlone(benchClientCommand, invocation);
      const { runGroup } = await import('../../bench/bench-group.js');
      const targets = hosts.map((one) => ({ host: one, port }));
      return measureGroup(invocation, 'one-to-many', (control) =>
        runGroup(config, targets, control),
      );
    }
    const { runBench } = await import('../../bench/bench-session.js');
    const { prepareEmulatorCounters } = await import('../../bench/loopback.js');
    prepareEmulatorCounters(config);
    return measureRuns(benchClientCommand, invocation, async (control) => {
      const listeners = { ...control, ...benchListeners(config) };
      const result = await runBench({ config, log, host, port, ...listeners });
      if (!invocation.isJson) await form.logs?.client(result);
      return { ...result, ...kv };
    });
  },
};
