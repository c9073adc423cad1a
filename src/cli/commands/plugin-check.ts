// `tcpx plugin check [PATH]`: the contract that we rely on, tried on a plugin of this machine.

import { processEnvironment } from '../../base/config.js';
import { TcpxError } from '../../base/errors.js';
import { LEVEL_WARN } from '../../ffi/nccl-net/logger-line.js';
import { parseSocketBudget } from '../../flow/socket-budget.js';
import { CHECK_RULES, type RuleResult } from '../../provider/tcpx/check/check-rules.js';
import { type CheckOutcome, runCheck } from '../../provider/tcpx/check/run-check.js';
import { hostVariables } from '../../provider/tcpx/host-environment.js';
import { checkVariables } from '../../provider/tcpx/plugin-variables.js';
import { takeSockets } from '../../provider/tcpx/socket-registry.js';
import type { Command, Invocation } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { formatTable, printJson, printText } from '../print.js';

const CHUNK_BYTES = 524_288;
const LIMIT_MS = 10_000;
const TIMEOUT_MS = 60_000;

export const pluginCheckCommand: Command = {
  name: 'plugin check',
  group: 'plugin',
  summary: 'Try the rules that we rely on against a plugin: one NIC, one socket, some seconds.',
  positionals: '[PATH]',
  positionalsMax: 1,
  positionalSetting: { index: 0, name: 'plugin.path' },
  settings: [
    'plugin.path',
    'session.nics',
    'session.ctrlInterface',
    'bench.gpu',
    'tcpx.steeringWaitUs',
    'tcpx.socketBudget',
    'tcpx.stateDir',
  ],
  examples: [
    ['plugin check', 'Tries the plugin that is installed.'],
    ['plugin check /opt/libnccl-net.so --nics eth1', 'Tries this one on one NIC.'],
  ],
  async run(invocation) {
    const outcome = await check(invocation);
    const failed = outcome.results.filter(({ verdict }) => verdict === 'fail');
    const ok = failed.length === 0;
    if (invocation.isJson) printJson(document(outcome, ok));
    else printText(formatOutcome(outcome, ok));
    if (outcome.plugin === undefined) {
      throw new TcpxError('ERR_CAP_NET_PLUGIN', failed[0]?.seen ?? 'no plugin');
    }
    return ok ? ExitCode.Good : ExitCode.AnswerIsNo;
  },
};

async function check(invocation: Invocation): Promise<CheckOutcome> {
  const { values } = invocation.config;
  const [nic = ''] = values['session.nics'].replace(/^=/, '').split(',');
  const facts = {
    nics: nic === '' ? [] : [nic],
    gpu: values['bench.gpu'],
    chunkBytes: CHUNK_BYTES,
    sockets: 1,
    threads: 1,
    steeringWaitUs: values['tcpx.steeringWaitUs'],
    ctrlInterface: values['session.ctrlInterface'],
    unixPrefix: values['tcpx.unixPrefix'],
    txBindings: '',
    pluginPath: values['plugin.path'],
    isSameHostAllowed: true,
  };
  const variables = hostVariables(facts, processEnvironment());
  checkVariables(variables);
  const request = {
    path: values['plugin.path'],
    name: values['plugin.name'],
    nic,
    gpu: values['bench.gpu'],
    limitMs: LIMIT_MS,
    timeoutMs: TIMEOUT_MS,
  };
  const budget = parseSocketBudget(values['tcpx.socketBudget']);
  const claim = nic === '' ? undefined : takeSockets(values['tcpx.stateDir'], nic, 1, budget);
  try {
    return await runCheck(request, variables);
  } finally {
    claim?.release();
  }
}

function document({ plugin, results, log }: CheckOutcome, ok: boolean) {
  return {
    schema: 'tcpx.plugin-check/1',
    ok,
    evidence: plugin?.isEmulated === true ? 'emulated' : 'measured',
    plugin: plugin ?? null,
    rules: results.map((result) => ({ ...result, ...CHECK_RULES[result.id] })),
    warnings: log.filter(({ level }) => level === LEVEL_WARN).map(({ text }) => text),
  };
}

function formatOutcome({ plugin, results }: CheckOutcome, ok: boolean): string {
  const rows = results.map(({ id, verdict, seen }) => [
    verdict,
    id,
    seen === '' ? CHECK_RULES[id].title : `${CHECK_RULES[id].title}: ${seen}`,
  ]);
  const evidence = plugin?.isEmulated === true ? ' (emulated)' : '';
  const head =
    plugin === undefined
      ? ''
      : `${plugin.name}, table v${plugin.tableVersion}, ${plugin.path}, ` +
        `on ${plugin.nic}${evidence}\n`;
  return `${head}${formatTable(rows)}${summary(results, ok)}\n`;
}

function summary(results: readonly RuleResult[], ok: boolean): string {
  const count = (verdict: RuleResult['verdict']): number =>
    results.filter((result) => result.verdict === verdict).length;
  const counts =
    `${count('pass')} pass, ${count('fail')} fail, ${count('differs')} differ, ` +
    `${count('skip')} not tried`;
  const meaning = ok
    ? 'what the provider relies on holds'
    : 'the provider relies on what failed: do not use this plugin';
  return `${counts}: ${meaning}`;
}
