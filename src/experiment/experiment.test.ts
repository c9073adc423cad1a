// Experiments without hosts and commands: plans, the loop, checks of runs, and the page.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import { grownNic, withRunBundle } from '../../test/support/run-bundle.js';
import { smallHostSpec } from '../../test/support/small-host.js';
import { at } from '../base/assert.js';
import { runFacts } from '../diag/run-facts.js';
import { skipReason } from './arm-skip.js';
import { builtInPlan } from './built-in-plans.js';
import { type ExperimentEdges, runExperiment } from './experiment.js';
import { negativeChecks } from './negative-checks.js';
import { commandOf, type ExperimentPlan, readPlan } from './plan.js';
import { type CpusByNic, type ExperimentRecord, type RunRecord, wholeRounds } from './record.js';
import { experimentResults } from './results.js';
import { resultsPage } from './results-page.js';
import { checkRun, isCounted } from './run-checks.js';

const PLAN = `
name = "chunks"
title = "Chunk sizes"
command = ["tcpx", "bench", "loopback", "--json", "--seconds", "{seconds}"]
seconds = 2
runs-max = 6
effect = 20
[[arm]]
name = "small"
[arm.environment]
NIXL_TCPX_FLOW_CHUNK_BYTES = "65536"
[[arm]]
name = "large"
interrupts = "matched"
variables = "nccl"
channels = 2
`;

test('plan: a file in TOML or JSON, with what is missing at its default', () => {
  const plan = readPlan(PLAN, 'chunks.toml');
  assert.equal(plan.effect, 0.2);
  assert.deepEqual([plan.roundsMin, plan.roundsMax, plan.alpha], [3, 6, 0.05]);
  assert.deepEqual(at(plan.arms, 0), {
    ...{
      name: 'small',
      question: '',
      interrupts: 'default',
      variables: 'none',
      channels: undefined,
    },
    ...{ nics: [], environment: { NIXL_TCPX_FLOW_CHUNK_BYTES: '65536' } },
  });
  assert.equal(at(plan.arms, 1).channels, 2);
  const json = JSON.stringify({ name: 'x', arm: [{ name: 'a' }, { name: 'b' }] });
  assert.deepEqual(readPlan(json, 'x.json').command, []);
  assert.deepEqual(commandOf(['--nics', '{nics}', '{other}'], { nics: 'eth1' }), [
    ...['--nics', 'eth1', '{other}'],
  ]);
});

test('plan: mistakes are named', () => {
  const cases = [
    [PLAN.replace('seconds = 2', 'second = 2'), /second is not known/],
    [PLAN.replace('runs-max = 6', 'runs-max = 2'), /runs-max is a number from 3/],
    [PLAN.replace('runs-max = 6', 'runs-max = 3.5'), /no range of whole numbers/],
    [PLAN.replace('"large"', '"small"'), /names of their own/],
    [PLAN.replace('"matched"', '"matching"'), /one of default, matched/],
    [PLAN.replace('"65536"', '65536'), /each a string/],
    ['name = "x"', /2 to 64 arms/],
    ['{', /plan p/],
  ] as const;
  for (const [text, pattern] of cases) {
    assert.throws(() => readPlan(text, 'p'), withCode('ERR_USAGE_ARGUMENT', pattern));
  }
  assert.throws(() => builtInPlan('irq-bindng', []), /did you mean irq-binding/);
});

test('plans: T1 to T5, one NIC against the next, one or two NICs for a GPU', () => {
  const rows = builtInPlan('irq-binding', []).arms.map((arm) => {
    return [arm.name, arm.interrupts, arm.variables, arm.channels];
  });
  assert.deepEqual(rows, [
    ['T1', 'default', 'none', 1],
    ['T2', 'default', 'nccl', 1],
    ['T3', 'matched', 'none', 1],
    ['T4', 'matched', 'nccl', 1],
    ['T5', 'matched', 'nccl', 2],
  ]);
  const ab = builtInPlan('nic-ab', ['eth1', 'eth2', 'eth3']);
  assert.deepEqual(
    ab.arms.map(({ nics }) => nics),
    [['eth1'], ['eth2'], ['eth3']],
  );
  assert.ok(ab.command.includes('--trace-dir'));
  assert.ok(!ab.command.includes('--seconds'), 'traces of equally many calls are compared');
  const perGpu = builtInPlan('nics-per-gpu', ['eth1', 'eth2']);
  assert.deepEqual(
    perGpu.arms.map(({ name, nics, variables }) => [name, nics.length, variables]),
    [
      ['1-nic-none', 1, 'none'],
      ['2-nics-none', 2, 'none'],
      ['1-nic-nccl', 1, 'nccl'],
      ['2-nics-nccl', 2, 'nccl'],
    ],
  );
  for (const name of ['nic-ab', 'nics-per-gpu']) {
    assert.throws(() => builtInPlan(name, ['eth1']), withCode('ERR_USAGE_ARGUMENT', /--nics/));
  }
});

test('arms: what is not safe or not possible is left out with its reason', () => {
  const { arms } = builtInPlan('irq-binding', []);
  const reasons = (facts: Partial<Parameters<typeof skipReason>[1]>) =>
    arms.map((arm) =>
      skipReason(arm, {
        ...{ placementProblem: undefined, isPlugin: true, socketsPerChannel: 4, socketBudget: 8 },
        ...facts,
      }),
    );
  assert.deepEqual(reasons({}), [undefined, undefined, undefined, undefined, undefined]);
  const [, , , , t5] = reasons({ socketsPerChannel: 8 });
  assert.match(t5 ?? '', /2 channels of 8 sockets are 16 on one NIC, more than 8/);
  assert.equal(reasons({ socketsPerChannel: 8, socketBudget: undefined })[4], undefined);
  assert.equal(reasons({ socketsPerChannel: 8, isPlugin: false })[4], undefined);
  const unwritable = reasons({ placementProblem: 'EROFS' });
  assert.deepEqual(
    unwritable.map((reason) => reason === undefined),
    [true, true, false, false, false],
  );
});

function recordOf(plan: ExperimentPlan): ExperimentRecord {
  return {
    schema: 'tcpx.experiment/1',
    ...{ plan, words: ['tcpx', 'bench'], nics: ['lo'], seed: 11, hostname: 'node-a' },
    ...{ version: '0.1.0', startedAt: '2026-01-01T00:00:00.000Z', state: 'running' },
    placement: { kind: 'rps', text: 'lo: RPS' },
    interruptCpus: { lo: [1] },
    ...{ isEmulated: true, txBindings: 'lo:0-0', rxBindings: 'lo:1-1' },
    ...{ skipped: [], dropped: [], runs: [], isCapped: false },
  };
}

function runOf(arm: string, round: number, rate: number, isGood = true): RunRecord {
  return {
    ...{ arm, round, startedAt: '', seconds: 1, bundle: `runs/${arm}-${round}` },
    figures: {
      ...{ bandwidthGBps: rate, latencyP50Us: 5 },
      requestDepth: { transfers: 2, chunks: 16 },
      ...{ chunkBytes: 524_288, busyCpus: 1, interruptsByNic: { eth1: 10 } },
      devmemPacketsByNic: { eth1: 7 },
      ...{ contextSwitches: 3, contextSwitchesOf: 'host', cacheMisses: null },
      remoteNumaAccesses: null,
    },
    checks: [{ name: 'payload verified', verdict: isGood ? 'pass' : 'fail', evidence: '1 wrong' }],
    isCounted: isGood,
  };
}

/** Rates by arm with a little noise that the round decides. */
function edgesOf(rates: Readonly<Record<string, number>>, over: Partial<ExperimentEdges> = {}) {
  const saved: ExperimentRecord[] = [];
  const order: string[] = [];
  const edges: ExperimentEdges = {
    perform: ({ name }, round) => {
      order.push(`${name}.${round}`);
      const noise = 1 + 0.01 * Math.sin(7 * round + name.length + name.charCodeAt(1));
      return Promise.resolve(runOf(name, round, (rates[name] ?? 1) * noise, rates[name] !== 0));
    },
    save: (record) => saved.push(record),
    tell: () => undefined,
    isInterrupted: () => false,
    ...over,
  };
  return { edges, saved, order };
}

test('experiment: a warm-up, then rounds in the order of the seed, saved after each', async () => {
  const begun = recordOf(builtInPlan('irq-binding', []));
  const { edges, saved, order } = edgesOf({ T1: 10, T2: 10, T3: 13, T4: 13.1, T5: 13 });
  const record = await runExperiment(begun, edges);
  assert.equal(order[0], 'T1.-1');
  assert.equal(record.state, 'done');
  assert.equal(wholeRounds(record).length, 3);
  assert.equal(record.runs.length, 16);
  assert.ok(saved.some(({ runs }) => runs.length === 7));
  const again = edgesOf({ T1: 10, T2: 10, T3: 13, T4: 13.1, T5: 13 });
  await runExperiment(begun, again.edges);
  assert.deepEqual(again.order, order);
  const results = experimentResults(record, [], { name: 'nccl', GBps: 20 });
  assert.equal(results.decision.outcome, 'A');
  assert.equal(results.attribution.text, 'It comes from the interrupts (T3).');
  assert.ok(Math.abs((results.reference?.ratio ?? 0) - 0.655) < 0.01);
});

test('experiment: interrupted, then resumed: no run twice, none lost', async () => {
  const begun = recordOf(builtInPlan('irq-binding', []));
  const rates = { T1: 10, T2: 10, T3: 10, T4: 10, T5: 10 };
  const first = edgesOf(rates);
  const stopped = await runExperiment(begun, {
    ...first.edges,
    isInterrupted: () => first.order.length >= 8,
  });
  assert.equal(stopped.state, 'interrupted');
  assert.equal(stopped.runs.length, 7, 'the run that was cut off is not kept');
  const second = edgesOf(rates);
  const record = await runExperiment(stopped, second.edges);
  assert.equal(record.state, 'done');
  assert.equal(wholeRounds(record).length, 3);
  assert.equal(new Set(record.runs.map(({ arm, round }) => `${arm}.${round}`)).size, 16);
  assert.ok(!second.order.includes('T1.-1'));
});

test('experiment: an arm without a valid run is dropped; the first one ends it', async () => {
  const begun = recordOf(builtInPlan('irq-binding', []));
  const lost = edgesOf({ T1: 10, T2: 10, T3: 10, T4: 10, T5: 0 });
  const record = await runExperiment(begun, lost.edges);
  assert.deepEqual(record.dropped, [{ arm: 'T5', reason: 'payload verified: 1 wrong' }]);
  assert.equal(lost.order.filter((run) => run.startsWith('T5')).length, 3);
  const results = experimentResults(record, [], undefined);
  assert.equal(results.decision.outcome, 'B');
  assert.equal(results.invalid.length, 3);
  const first = edgesOf({ T1: 0, T2: 10, T3: 1, T4: 1, T5: 1 });
  const none = await runExperiment(begun, first.edges);
  assert.equal(experimentResults(none, [], undefined).decision.outcome, 'undecided');
  assert.equal(first.order.at(-1), 'T1.0', 'without it the rest of the round tells nothing');
});

test('page: every section, also for what was not gained or not run', async () => {
  const begun = {
    ...recordOf(builtInPlan('irq-binding', [])),
    skipped: [{ arm: 'T5', reason: 'not safe: 2 | 3' }],
  };
  const record = await runExperiment(begun, edgesOf({ T1: 10, T2: 10, T3: 9, T4: 10 }).edges);
  const answers = [{ question: 'Threads?', verdict: 'no', evidence: 'CPU 7 <b>' }] as const;
  const results = experimentResults(record, answers, undefined);
  const page = resultsPage(results, record, { traces: ['eth1 and eth2 part'], after: record });
  const titles = [...page.matchAll(/^## (.*)$/gm)].map(([, title]) => title);
  assert.deepEqual(titles, [
    ...['All tests', 'Best configuration', 'Improvement', 'Remaining gap to NCCL', 'Decision'],
    ...['Why it gained nothing', 'Lessons', 'Negative results', 'Call traces', 'Counters'],
    'How it was measured',
  ]);
  assert.match(page, /Evidence: \*\*emulated\*\*/);
  assert.match(page, /\*\*B\*\*: no arm gains \+10\.0 %/);
  assert.match(page, /T5 was not run: not safe: 2 \\\| 3/);
  assert.match(page, /T3 is slower: -/);
  assert.match(page, /CPU 7 &lt;b>/);
  assert.match(page, /device-memory packets by NIC, after/);
  assert.match(
    page,
    /\| T1 \| eth1: 30 \| eth1: 21 \| 2 transfers, 16 chunks \| 1\.0 \| 0 of 3 \|/,
  );
  assert.match(page, /seed 11/);
});

test('page: unfinished, it claims nothing; counters are those of counted runs', () => {
  const begun = recordOf(builtInPlan('irq-binding', []));
  const pageOf = (record: ExperimentRecord) =>
    resultsPage(experimentResults(record, [], undefined), record, { traces: [], after: undefined });
  assert.match(pageOf(begun), /## Negative results\n\nNone so far: not every arm/);
  const page = pageOf({ ...begun, runs: [runOf('T1', 0, 10), runOf('T1', 1, 10, false)] });
  assert.match(page, /\| T1 \| eth1: 10 \| eth1: 7 \| .* \| 1 of 2 \|/);
});

const ARM = at(builtInPlan('irq-binding', []).arms, 3);
const PLAIN = at(builtInPlan('irq-binding', []).arms, 0);
const INTERRUPTS_ONLY = at(builtInPlan('irq-binding', []).arms, 2);
const BOUND = {
  ...{ txBindings: 'eth1:0-0;eth2:2-2', rxBindings: 'eth1:4-4;eth2:6-6' },
  // Where the interrupts of the fixture come.
  interruptCpus: { eth1: [1, 5], eth2: [3, 7] },
};
const STABLE = { before: '2', after: '2' };

test('checks: a healthy run counts; each planted fault is named', () => {
  const failed = (plant: Parameters<typeof withRunBundle>[0], over = {}) =>
    withRunBundle(plant, (folder) => {
      const facts = runFacts(folder);
      const checks = checkRun({
        ...{ arm: ARM, facts, ...BOUND, placement: STABLE, gpuLines: [] },
        ...over,
      });
      assert.equal(
        isCounted(checks),
        checks.every(({ verdict }) => verdict !== 'fail'),
      );
      return checks.filter(({ verdict }) => verdict === 'fail').map(({ name }) => name);
    });
  assert.deepEqual(failed({}), []);
  assert.deepEqual(failed({ end: { isTimedOut: true } }), [
    ...['ended in time', 'nothing stood still'],
  ]);
  assert.deepEqual(failed({ end: { status: 134 } }), ['ended in time']);
  assert.deepEqual(failed({ log: ['no figure'] }), ['has a figure']);
  withRunBundle({ log: ['10 GB/s', 'no such NIC', ''], end: { status: 2 } }, (folder) => {
    const run = { arm: ARM, facts: runFacts(folder), ...BOUND, placement: STABLE, gpuLines: [] };
    assert.equal(at(checkRun(run), 0).evidence, 'exit status 2, its last line: no such NIC');
  });
  assert.deepEqual(failed({}, { placement: { before: '2', after: '3' } }), ['affinity stable']);
  assert.deepEqual(failed({}, { gpuLines: ['NVRM: Xid 31'] }), ['no Xid in the kernel’s log']);
  assert.deepEqual(failed({}, { arm: PLAIN }), ['variables as planned']);
  const idle = Object.fromEntries([0, 1, 2, 3, 4, 5, 6, 7].map((cpu) => [cpu, 1]));
  assert.deepEqual(failed({ cpuUse: idle }), ['bound cores active']);
});

test('checks: cores of interrupts where these are bound, of threads where those are', () => {
  const verdictOf = (over: object, plant: Parameters<typeof withRunBundle>[0] = {}) =>
    withRunBundle(plant, (folder) => {
      const run = { arm: INTERRUPTS_ONLY, facts: runFacts(folder), ...BOUND, placement: STABLE };
      const checks = checkRun({ ...run, gpuLines: [], ...over });
      return checks.find(({ name }) => name === 'bound cores active')?.verdict;
    });
  const idle = Object.fromEntries([0, 2, 4, 6].map((cpu) => [cpu, 1]));
  assert.equal(verdictOf({}, { cpuUse: idle }), 'pass', 'threads are not bound');
  assert.equal(verdictOf({ interruptCpus: { eth1: [0], eth2: [2] } }), 'fail', 'none came there');
  assert.equal(verdictOf({ interruptCpus: { lo: [0] } }), 'pass', 'RPS: a busy CPU');
  assert.equal(verdictOf({ interruptCpus: { lo: [0] } }, { cpuUse: idle }), 'unknown');
  assert.equal(verdictOf({ arm: ARM, interruptCpus: { eth1: [0] } }), 'fail', 'both must hold');
  assert.equal(verdictOf({ arm: PLAIN }), 'unknown', 'nothing is bound');
});

test('outcome B: its seven questions in order, answered from a bundle', () => {
  const answers = withRunBundle({ end: { threads: [thread(0), thread(5)] } }, (folder) => {
    const facts = runFacts(folder);
    const others = { matched: { facts, interruptCpus: BOUND.interruptCpus }, uncounted: [] };
    return negativeChecks(facts, BOUND_BY_IRQ, others);
  });
  assert.deepEqual(
    answers.map(({ question }) => question.split(' ').slice(0, 3).join(' ')),
    [
      ...['Did the threads', 'Did the interrupts', 'Were these cores', 'Is enough in'],
      ...['Are chunks of', 'Is every flow', 'Is all of'],
    ],
  );
  const verdicts = answers.map(({ verdict }) => verdict);
  // CPU 5 is nobody's; the cores of the fixture are 20 % busy.
  assert.deepEqual(verdicts.slice(0, 5), ['no', 'yes', 'no', 'unknown', 'yes']);
});

const BOUND_BY_IRQ = { ...BOUND, placement: { kind: 'irq', text: '' } } as const;

test('outcome B: interrupts elsewhere; a flow without its rule where a run did not count', () => {
  const spec = smallHostSpec();
  const still = { ...spec, nics: spec.nics.map((nic) => grownNic(nic, 0)) };
  const lost = { after: () => still };
  const answersOf = (interruptCpus: CpusByNic | undefined, isLost: boolean) =>
    withRunBundle(lost, (bad) =>
      withRunBundle({}, (good) => {
        const facts = runFacts(good);
        const matched = interruptCpus && { facts, interruptCpus };
        const uncounted = isLost ? [runFacts(bad)] : [];
        const answers = negativeChecks(facts, BOUND_BY_IRQ, { matched, uncounted });
        return [at(answers, 1).verdict, at(answers, 5).verdict];
      }),
    );
  assert.deepEqual(answersOf({ eth1: [1, 5], eth2: [3, 7] }, false), ['yes', 'yes']);
  assert.deepEqual(answersOf({ eth1: [1, 5], eth2: [2] }, true), ['no', 'no']);
  assert.deepEqual(answersOf(undefined, false), ['unknown', 'yes']);
});

function thread(cpu: number) {
  return { tid: cpu, name: 'proxy', seconds: 12, allowed: '0-7', cpus: { [cpu]: 9 } };
}
