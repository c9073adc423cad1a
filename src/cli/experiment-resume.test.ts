// What an experiment keeps and takes up again: its placement on a made-up host, secrets that its
// record does not hold, NICs of its arms, traces of its runs, and the baseline that it leaves.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import { buildHostTree } from '../../test/support/host-tree.js';
import { smallHostSpec } from '../../test/support/small-host.js';
import { removeTreeFolder, writeTreeFolder } from '../../test/support/tree-folder.js';
import { at } from '../base/assert.js';
import { builtInPlan } from '../experiment/built-in-plans.js';
import type { ExperimentPlan } from '../experiment/plan.js';
import {
  type ExperimentRecord,
  loadRecord,
  type RunRecord,
  saveRecord,
} from '../experiment/record.js';
import { baselineProblem } from '../host/irq/baseline.js';
import type { Invocation } from './command.js';
import { experimentRunCommand } from './commands/experiment-run.js';
import { keepBaseline } from './experiment-baseline.js';
import {
  type ExperimentPlacement,
  openPlacement,
  reopenPlacement,
} from './experiment-placement.js';
import { traceLines } from './experiment-results.js';
import { wholeRecord } from './experiment-resume.js';
import { dryRun } from './experiment-text.js';
import { experimentWish } from './experiment-wish.js';
import { parseInvocation } from './invocation.js';
import { openIrqHost } from './irq-host.js';

const folder = mkdtempSync(join(tmpdir(), 'tcpx-experiment-resume-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const invoke = (...words: string[]) => parseInvocation(experimentRunCommand, words);

/** On a tree in the place of this machine, which the command itself does not offer. */
function onTree(root: string, ...words: string[]): Invocation {
  const invocation = invoke('--state', join(folder, 'state'), ...words);
  return { ...invocation, text: (flag) => (flag === 'root' ? root : invocation.text(flag)) };
}

function treeOf(spec = smallHostSpec()): string {
  const root = writeTreeFolder(buildHostTree(spec));
  after(() => removeTreeFolder(root));
  return root;
}

function recordOf(plan: ExperimentPlan, over: Partial<ExperimentRecord> = {}): ExperimentRecord {
  return {
    schema: 'tcpx.experiment/1',
    ...{ plan, words: plan.command, nics: ['eth1'], seed: 1, hostname: 'small-fixture' },
    ...{ version: '0.1.0', startedAt: '', state: 'interrupted', isEmulated: false },
    placement: { kind: 'irq', text: '' },
    ...{ interruptCpus: {}, txBindings: '', rxBindings: '' },
    ...{ skipped: [], dropped: [], runs: [], isCapped: false },
    ...over,
  };
}

function begunWith(placement: ExperimentPlacement): ExperimentRecord {
  const { kind, text, irqPlan, interruptCpus, txBindings, rxBindings } = placement;
  const over = { placement: { kind, text }, irqPlan, interruptCpus, txBindings, rxBindings };
  const record = recordOf(builtInPlan('irq-binding', []), over);
  saveRecord(join(folder, 'begun'), record);
  return loadRecord(join(folder, 'begun'));
}

const NICS = ['eth1', 'eth2'];

test('placement: bound by the NICs of an arm alone, and put back', () => {
  const invocation = onTree(treeOf(), '--policy', 'physical', '--ignore-irqbalance');
  const placement = openPlacement(invocation, NICS, folder);
  const masks = () =>
    openIrqHost(invocation).model.irqs.map(({ irq, requested }) => `${irq}: ${String(requested)}`);
  const before = masks();
  /** Tens of the interrupts that were moved: eth1 has 40 on, eth2 50 on. */
  const movedBy = (nics: readonly string[]) => {
    const release = placement.bind(nics);
    const moved = masks().filter((mask, index) => mask !== before[index]);
    release();
    assert.deepEqual(masks(), before);
    return [...new Set(moved.map((mask) => mask.slice(0, 1)))];
  };
  assert.deepEqual(movedBy(NICS), ['4', '5']);
  assert.deepEqual(movedBy(['eth2']), ['5']);
  assert.match(placement.problemOf(['eth7']) ?? '', /no line/);
});

test('resume: binds the plan of the record, whatever the host would get today', () => {
  const root = treeOf();
  const begun = begunWith(openPlacement(onTree(root, '--policy', 'physical'), NICS, folder));
  const today = openPlacement(onTree(root, '--policy', 'numa-local'), NICS, folder);
  assert.notDeepEqual(today.irqPlan?.lines, begun.irqPlan?.lines);
  const resumed = reopenPlacement(onTree(root), begun, NICS, folder);
  assert.deepEqual(resumed.irqPlan?.lines, begun.irqPlan?.lines);
  assert.deepEqual(resumed.interruptCpus, begun.interruptCpus);
  const older = { ...begun, irqPlan: undefined };
  const refused = (text: RegExp) => withCode('ERR_USAGE_STATE', text);
  assert.throws(
    () => reopenPlacement(onTree(root), older, NICS, folder),
    refused(/did not record what it binds.*begin a new experiment/),
  );
});

test('resume: refused where the host has changed', () => {
  const spec = smallHostSpec();
  const root = treeOf(spec);
  const begun = begunWith(openPlacement(onTree(root, '--policy', 'physical'), NICS, folder));
  const resumeOn = (other: typeof spec) => () =>
    reopenPlacement(onTree(treeOf(other)), begun, NICS, folder);
  const refused = (text: RegExp) => withCode('ERR_USAGE_STATE', text);
  const [first, second] = [at(spec.nics, 0), at(spec.nics, 1)];
  assert.throws(resumeOn({ ...spec, nics: [first] }), refused(/eth2.*does not have/));
  const fewer = {
    ...second,
    vectors: second.vectors.filter(({ vectorIndex }) => vectorIndex !== 1),
  };
  assert.throws(resumeOn({ ...spec, nics: [first, fewer] }), refused(/vector 1 of .*eth2/));
  const planned = Object.values(begun.interruptCpus).flat();
  assert.throws(resumeOn({ ...spec, offlineCpus: planned.slice(0, 1) }), refused(/not online/));
  const lines = begun.irqPlan?.lines.filter(({ irq }) => irq !== 51) ?? [];
  const more = { ...begun, irqPlan: begun.irqPlan && { ...begun.irqPlan, lines } };
  assert.throws(
    () => reopenPlacement(onTree(root), more, NICS, folder),
    refused(/3 queue interrupts of eth2, which has 4 now/),
  );
  assert.throws(resumeOn({ ...spec, hostname: 'elsewhere' }), refused(/made for host small/));
  const empty = { ...begun, placement: { kind: 'rps', text: '' } } as const;
  assert.throws(
    () => reopenPlacement(onTree(root), empty, NICS, folder),
    refused(/not those that it was begun with/),
  );
});

test('resume: what the record has is refused on the command line', () => {
  const record = recordOf(builtInPlan('irq-binding', []));
  const cases: [string[], RegExp][] = [
    [['--policy', 'split'], /leave out --policy/],
    [['--widen', '1', '--seed', '3'], /leave out --seed, --widen/],
    [['--nics', 'eth2'], /leave out --nics/],
    [['nic-ab'], /leave out plan nic-ab/],
    [['--', 'true'], /its command is another: tcpx bench loopback/],
  ];
  for (const [words, text] of cases) {
    const given = invoke('--resume', 'x', ...words);
    const resume = () => wholeRecord(experimentRunCommand, given, record, {});
    assert.throws(resume, withCode('ERR_USAGE_ARGUMENT', text));
  }
  assert.deepEqual(wholeRecord(experimentRunCommand, invoke('--resume', 'x'), record, {}), record);
});

test('secrets: not in the record nor in a dry run; given again when it is resumed', () => {
  const plain = builtInPlan('irq-binding', []);
  const arms = plain.arms.map((arm) => ({
    ...arm,
    environment: { API_TOKEN: 'geheim', URL: 'http://me:geheim@host/', F: '1' },
  }));
  const words = ['run', '--secret', 'geheim', '{nics}'];
  const plan = { ...plain, arms, command: words };
  const place = join(folder, 'secret');
  saveRecord(place, recordOf(plan));
  assert.doesNotMatch(readFileSync(join(place, 'experiment.json'), 'utf8'), /geheim/);
  assert.doesNotMatch(JSON.stringify(dryRun(recordOf(plan))), /geheim/);
  const kept = loadRecord(place);
  const resume = (given: readonly string[], environment: Record<string, string>) => {
    const invocation = invoke('--resume', place, ...given);
    return wholeRecord(experimentRunCommand, invocation, kept, environment);
  };
  const again = ['--', ...words];
  const own = { API_TOKEN: 'geheim', URL: 'http://me:geheim@host/' };
  assert.deepEqual(resume(again, own).words, words);
  assert.deepEqual(resume(again, own).plan.arms, arms);
  const refused = (text: RegExp) => withCode('ERR_USAGE_ARGUMENT', text);
  assert.throws(() => resume([], own), refused(/give it again behind --: run --secret \[hidden\]/));
  assert.throws(() => resume(again, {}), refused(/does not hold API_TOKEN of arm T1/));
  const other = { ...own, URL: 'http://me:geheim@elsewhere/' };
  assert.throws(() => resume(again, other), refused(/does not hold URL of arm T1/));
});

test('NICs: those of the arms; loopback for our own loopback command alone', () => {
  const nicsOf = (command: string, nics: string) => {
    const path = join(folder, 'nics.toml');
    const arms = ['a', 'b'].map((name) => `[[arm]]\nname = "${name}"\nnics = [${nics}]\n`);
    writeFileSync(path, `name = "x"\ncommand = [${command}]\n${arms.join('')}`);
    return experimentWish(experimentRunCommand, invoke(path)).nics;
  };
  assert.deepEqual(nicsOf('"sh"', '"eth1", "eth2"'), ['eth1', 'eth2']);
  assert.ok(!nicsOf('"sh"', '').includes('lo'));
  assert.deepEqual(nicsOf('"tcpx", "bench", "loopback"', ''), ['lo']);
  assert.deepEqual(experimentWish(experimentRunCommand, invoke()).nics, ['lo']);
});

function runOf(arm: string, round: number, over: Partial<RunRecord> = {}): RunRecord {
  return {
    ...{ arm, round, startedAt: '', seconds: 1, bundle: `runs/${arm}-${round}` },
    figures: {
      ...{ bandwidthGBps: 1, latencyP50Us: null, requestDepth: null, chunkBytes: null },
      ...{ busyCpus: null, interruptsByNic: {}, devmemPacketsByNic: {}, contextSwitches: null },
      ...{ contextSwitchesOf: null, cacheMisses: null, remoteNumaAccesses: null },
    },
    ...{ checks: [], isCounted: true, ...over },
  };
}

test('traces: of the run that counts, role by role', () => {
  const write = (place: string, role: string, size: number) => {
    mkdirSync(join(folder, place), { recursive: true });
    const text = `1 1.0 isend channel=0 bytes=${size}\n`;
    writeFileSync(join(folder, place, `trace-${role}-eth${size}-1-0.log`), text);
  };
  write('traces/eth1-1_a', 'initiator', 8);
  write('traces/eth1-1_a', 'target', 9);
  write('traces/eth2-1_a', 'initiator', 7);
  write('traces/eth2-1_b', 'target', 9);
  write('traces/eth2-1_b', 'initiator', 8);
  const plan = builtInPlan('nic-ab', ['eth1', 'eth2']);
  const counted = [
    runOf('eth1', 0, { traces: 'traces/eth1-1_a' }),
    runOf('eth2', 0, { traces: 'traces/eth2-1_a', isCounted: false }),
    runOf('eth2', 0, { traces: 'traces/eth2-1_b' }),
  ];
  assert.deepEqual(traceLines(folder, { plan, runs: counted }), ['eth1 and eth2: the same calls']);
  const other = [at(counted, 0), { ...at(counted, 1), isCounted: true }];
  assert.deepEqual(traceLines(folder, { plan, runs: other }), [
    'eth1 and eth2 part at isend of initiator, bytes: 8 and 7',
  ]);
});

test('baseline: of measured runs, where there is none yet', () => {
  const plan = builtInPlan('irq-binding', []);
  const runs = [0, 1, 2].map((round) => runOf('T1', round));
  const record = recordOf(plan, { runs, state: 'done' });
  const state = join(folder, 'baselines');
  const keep = (over: Partial<ExperimentRecord>) =>
    keepBaseline(state, folder, { ...record, ...over });
  assert.equal(keep({ runs: runs.slice(1) }), undefined);
  assert.match(keep({ isEmulated: true }) ?? '', /no baseline was recorded: an emulated run/);
  mkdirSync(join(folder, 'runs/T1-0'), { recursive: true });
  const log = join(folder, 'runs/T1-0/nccl_test_output.log');
  writeFileSync(log, '{\n  "schema": "tcpx.bench/1",\n  "evidence": "emulated"\n}\n');
  assert.match(keep({}) ?? '', /an emulated run/);
  assert.notEqual(baselineProblem(state, 'small-fixture'), undefined);
  renameSync(log, join(folder, 'runs/T1-0/bench_result.json'));
  assert.match(keep({}) ?? '', /an emulated run/, 'where it was kept beside the log');
  rmSync(join(folder, 'runs'), { recursive: true });
  assert.match(keep({}) ?? '', /^baseline of 3 runs of T1: /);
  const before = readFileSync(join(state, 'baseline.json'), 'utf8');
  assert.match(keep({}) ?? '', /^the earlier baseline stays: /);
  assert.equal(readFileSync(join(state, 'baseline.json'), 'utf8'), before);
});
