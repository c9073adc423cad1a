// `tcpx bench server`: the target of a two-node benchmark.

import { networkInterfaces } from 'node:os';
import type { SettingName } from '../../base/settings.js';
import { formatReport } from '../bench-report.js';
import { tellStart } from '../bench-runs.js';
import { ucclForm } from '../bench-uccl.js';
import { type ClientLineFacts, clientLine, reachableAddress } from '../client-line.js';
import type { Command } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { formatShellLine, printCode, printJson, printNote, printText } from '../print.js';
import { ownProgram, secretNote, withSecret } from '../server-secret.js';
import { NO_UNIX_FLAG, TCPX_BENCH_SETTINGS } from './bench-loopback.js';

/** The client decides: what is said here stands in its line. */
const OF_THE_CLIENT: readonly SettingName[] = [
  'bench.sizeBytes',
  'bench.iterations',
  'bench.warmup',
];

export const benchServerCommand: Command = {
  name: 'bench server',
  group: 'measure',
  summary: 'The target of a two-node benchmark; prints the command line for the client.',
  positionals: '[GPU]',
  positionalsMax: 1,
  positionalSetting: { index: 0, name: 'bench.gpu' },
  settings: [
    'session.port',
    'session.portIndex',
    'session.bind',
    'session.ctrlInterface',
    'session.nics',
    'session.local',
    'session.handshakeTimeoutMs',
    'trust.mode',
    'trust.secretFile',
    'bench.gpu',
    'bench.pages',
    ...OF_THE_CLIENT,
    'bench.initiators',
    'bench.verbose',
    'bench.logDir',
    'gpu.stagingBytes',
    'flow.chunkBytes',
    'flow.windowChunks',
    'flow.channels',
    'flow.checksum',
    'flow.receiveBytes',
    'flow.sendBytes',
    'session.stallMs',
    'session.reconnectMs',
    'session.progressMs',
    'session.minRateBytes',
    'lane.count',
    'lane.progress',
    'lane.spinUs',
    'lane.bindings',
    'lane.numa',
    'socket.bufferBytes',
    'socket.congestion',
    'socket.userTimeoutMs',
    'socket.sendBy',
    'engine.provider',
    ...TCPX_BENCH_SETTINGS,
  ],
  shortFlags: { P: 'channels', J: 'json' },
  flags: [
    {
      name: 'once',
      kind: 'boolean',
      summary: 'End after one client has finished, or as many as --initiators says.',
    },
    NO_UNIX_FLAG,
  ],
  examples: [
    ['bench server', 'Listens, and prints the command line for the other node, secret included.'],
    ['bench server --once --initiators 4', 'Four clients at once: all begin when all are warm.'],
    [
      'bench server --once --secret-file tcpx.secret',
      'Serves one client that knows the secret in this file.',
    ],
  ],
  async run(invocation) {
    const hasGpu = invocation.positionals.length > 0;
    const form = await ucclForm(invocation.config, hasGpu);
    const { config, secret } = withSecret(form.config);
    tellStart(invocation);
    const { openBenchService } = await import('../../bench/bench-service.js');
    const { prepareEmulatorCounters } = await import('../../bench/loopback.js');
    prepareEmulatorCounters(config);
    const service = await openBenchService({
      config,
      log: invocation.log,
      onReport: (peer, report) => {
        if (invocation.isJson) return;
        printNote(formatReport(peer, report));
        void form.logs?.server(peer, report);
      },
    });
    // Before the announcement: whoever has read it may interrupt at once.
    const isEnded = invocation.has('once') ? service.finished : untilSignal();
    announceServer(invocation.isJson, service.port, secret, { config: form.config, hasGpu });
    await isEnded;
    await service.close();
    return ExitCode.Good;
  },
};

function announceServer(
  isJson: boolean,
  port: number,
  secret: string | undefined,
  given: Pick<ClientLineFacts, 'config' | 'hasGpu'>,
): void {
  const { 'session.bind': bind, 'session.ctrlInterface': control } = given.config.values;
  const host = reachableAddress(bind, control, networkInterfaces());
  const facts = { program: ownProgram(), host, port, secret, alike: OF_THE_CLIENT };
  const client = clientLine({ ...facts, ...given });
  const note = secretNote(given.config);
  if (note !== undefined) printNote(note);
  if (isJson) printJson({ schema: 'tcpx.bench-server/1', port, client, secret });
  else {
    printText(`listening on port ${port}; on the other node run\n`);
    printCode(`${formatShellLine(`  ${client}`)}\n\n`);
  }
}

function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
  });
}
