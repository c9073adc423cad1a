import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RunPlant, withRunBundle } from '../../test/support/run-bundle.js';
import { analyze } from './analyze.js';
import { runFacts } from './run-facts.js';
import { formatStatus, type StatusRun, statusPage } from './status.js';

function run(plant: RunPlant, label: string): StatusRun {
  return withRunBundle(plant, (folder) => {
    const facts = runFacts(folder);
    const started = facts.run.begin.started;
    return { analysis: analyze(facts), label, started, isGood: facts.run.end.status === 0 };
  });
}

const GOOD = run({}, 'good');
const BAD = run({ environment: { NCCL_NSOCKS_PERTHREAD: '1' }, end: { status: 1 } }, 'bad');

const DECISIONS = [
  {
    path: 'experiments/irq-binding_1',
    where: 'irq-binding on node-a, measured',
    decision: 'B, no arm gains <10 %',
    consequence: 'Keep the defaults.',
  },
];

function linesOf(title: string, runs: readonly StatusRun[], plan?: string): readonly string[] {
  const { sections } = statusPage({ runs, decisions: DECISIONS, unread: [], plan });
  return sections.find((section) => section.title === title)?.lines ?? [];
}

test('status: what works, what was measured, issues and steps come from the runs', () => {
  const runs = [BAD, GOOD, BAD];
  assert.equal(linesOf('What works', runs).length, 1);
  assert.match(linesOf('What works', runs)[0] ?? '', /^good on small-fixture, .*data checked$/);
  assert.equal(linesOf('What was measured where', runs).length, 3);
  assert.match(linesOf('Known issues', runs)[0] ?? '', /^sockets\.single: .*2 runs/);
  assert.match(linesOf('Next steps', runs)[0] ?? '', /NCCL_NSOCKS_PERTHREAD=4/);
  assert.deepEqual(linesOf('Decisions', runs), [
    'irq-binding on node-a, measured: B, no arm gains <10 % (experiments/irq-binding_1)',
  ]);
  assert.equal(linesOf('Next steps', runs).at(-1), 'Keep the defaults.');
});

test('status: the checklist ticks only what a file shows', () => {
  assert.deepEqual(
    linesOf('Checklist', [BAD], 'split').map((line) => line.slice(0, 3)),
    ['[ ]', '[ ]', '[x]'],
  );
  assert.deepEqual(
    linesOf('Checklist', [GOOD]).map((line) => line.slice(0, 3)),
    ['[x]', '[x]', '[x]'],
  );
  assert.deepEqual(linesOf('What works', []), ['nothing that a file shows']);
});

test('status: one page of Markdown', () => {
  const text = formatStatus(
    statusPage({ runs: [GOOD], decisions: DECISIONS, unread: [], plan: undefined }),
    true,
  );
  assert.match(text, /no arm gains &lt;10 %/);
  assert.match(text, /^# Status\n\n## What works\n\n- good on small-fixture/);
});
