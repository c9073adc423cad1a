// `tcpx bench compare [HOST]`: ourselves and the programs that are installed here, in turn.

import { isByHand } from '../../base/config.js';
import { splitNics } from '../../base/interface-list.js';
import { plural } from '../../base/units.js';
import { formatComparisonTable } from '../bench-compare-text.js';
import { StepProgress } from '../bench-progress.js';
import { untilInterrupted } from '../bench-runs.js';
import { type Command, type Invocation } from '../command.js';
import { countFlag } from '../count-flag.js';
import { ExitCode } from '../exit-code.js';
import { clearProgress, printJson, printNote, printText, showProgress } from '../print.js';
import { BENCH_SETTINGS } from './bench-loopback.js';

/** Fewer give no interval of 95 %. */
const ROUNDS = 6;
const SECONDS = 1;
/** Without --rounds: whatever is installed, a table within two minutes. */
const LIMIT_MS = 95_000;
const CONGESTION = 'cubic';

/** What the comparison decides itself. */
const DECIDED: readonly string[] = [
  'bench.op',
  'bench.batch',
  'bench.iterations',
  'bench.seconds',
  'bench.intervalSeconds',
  'bench.warmup',
  'bench.warmupSeconds',
  'bench.verify',
  'bench.storeDir',
  'bench.keep',
  'bench.verbose',
];

export const benchCompareCommand: Command = {
  name: 'bench compare',
  group: 'measure',
  summary: 'Ourselves against iperf3, UCX and others that are installed, and against the roofs.',
  positionals: '[HOST]',
  positionalsMax: 1,
  settings: [
    ...BENCH_SETTINGS.filter((name) => !DECIDED.includes(name)),
    'session.port',
    'session.connectTimeoutMs',
    'trust.mode',
    'trust.secretFile',
  ],
  flags: [
    {
      name: 'rounds',
      kind: 'text',
      value: 'N',
      summary: `Turns of each; ${ROUNDS}, or as many as 95 seconds allow.`,
    },
    {
      name: 'turn-seconds',
      kind: 'text',
      value: 'SECONDS',
      summary: `How long a turn is timed; ${SECONDS}; 0 for few iterations, to try it.`,
    },
  ],
  examples: [
    ['bench compare', 'Both ends here: a table of ratios in less than two minutes.'],
    ['bench compare --rounds 20', 'Narrower intervals.'],
    [
      'bench compare 10.0.0.2 --secret-file tcpx.secret',
      'Against bench server and iperf3 -s, which run there.',
    ],
  ],
  async run(invocation) {
    const { config, log, positionals } = invocation;
    const hasRounds = invocation.text('rounds') !== undefined;
    const rounds = countFlag(benchCompareCommand, invocation, 'rounds', {
      fallback: ROUNDS,
      least: 1,
      most: 1000,
    });
    const seconds = countFlag(benchCompareCommand, invocation, 'turn-seconds', {
      fallback: SECONDS,
      least: 0,
      most: 60,
    });
    const congestion = isByHand(config, 'socket.congestion')
      ? config.values['socket.congestion']
      : CONGESTION;
    const { runComparison } = await import('../../bench/compare/compare-run.js');
    const [host] = positionals;
    if (!invocation.isJson) printNote(`comparing, ${plural(rounds, 'round')} in turn`);
    noteLinks(invocation, host);
    const { stop, release } = untilInterrupted(invocation);
    const progress = new StepProgress();
    const outcome = await runComparison({
      config,
      log,
      host,
      rounds,
      seconds,
      congestion,
      limitMs: hasRounds ? Number.POSITIVE_INFINITY : LIMIT_MS,
      stop,
      onTurn: (done, total, name) =>
        showProgress(progress.line(done, total, name, performance.now())),
    }).finally(release);
    clearProgress();
    const { checked } = outcome;
    if (invocation.isJson) {
      const { ok, evidence, host: facts } = checked;
      const shape = { sizeBytes: checked.sizeBytes, channels: checked.channels, congestion };
      printJson({
        schema: 'tcpx.bench-compare/1',
        ok,
        evidence,
        host: facts,
        ...shape,
        ...outcome,
      });
    } else printText(formatComparisonTable(outcome, congestion));
    if (!checked.ok) return ExitCode.AnswerIsNo;
    return outcome.partial === undefined ? ExitCode.Good : ExitCode.RunTime;
  },
};

/** Its streams go to one address; ours have every NIC that was named. */
function noteLinks({ config, isJson }: Invocation, host: string | undefined): void {
  const nics = splitNics(config.values['session.nics']);
  if (isJson || host === undefined || nics.length < 2) return;
  printNote(`iperf3 has the way to ${host} alone, we have ${nics.length} NICs: one is a fair one`);
}
