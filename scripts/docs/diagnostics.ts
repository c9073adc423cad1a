// Renders the rules of docs/diagnostics.md: what the doctor asks of a host, and what is asked of
// the bundle of a run.

import type { Rule } from '../../src/diag/rule.js';
import { RULES } from '../../src/diag/rules.js';
import { RUN_RULES } from '../../src/diag/run-rules.js';

export function renderDiagnostics(): string {
  const rows = RULES.map((rule) => `| \`${rule.id}\` | ${rule.area} | ${rule.title} |`);
  return [
    'Each is pass, warn, fail, or not asked with the',
    'reason; `tcpx doctor` exits 1 when one fails. Where a reference run on the host moved',
    'device-memory packets (`reference.devmem`), findings of area *system* rank last.',
    '',
    'With `--measure` it also times this machine, which takes some seconds: a word from core to',
    'core and a wake-up, for each place that two CPUs can have (one CPU, threads of one core, one',
    'node, two nodes); copies of one core; one TCP stream over loopback with each congestion',
    'control that the kernel offers, and between each of the pairs, so that threads packed on one',
    'CPU show. Rounds take turns; medians are shown with their range. The rules `measure.*` judge',
    'these figures. Its line about the machine is the one that `npm run perf` prints: one module',
    'takes both.',
    '',
    '| rule | area | asks |',
    '| --- | --- | --- |',
    ...rows,
    '',
    ...RULES.flatMap((rule) => ruleSection(rule)),
  ].join('\n');
}

export function renderRunRules(): string {
  const rows = RUN_RULES.map((rule) => `| \`${rule.id}\` | ${rule.title} |`);
  return [
    '| rule | asks |',
    '| --- | --- |',
    ...rows,
    '',
    ...RUN_RULES.flatMap((rule) => ruleSection(rule)),
  ].join('\n');
}

type Words = Pick<Rule, 'id' | 'title' | 'why' | 'remedy' | 'proof' | 'experiment'>;

function ruleSection(rule: Words): string[] {
  return [
    `### ${rule.id}`,
    '',
    `**${rule.title}.**`,
    '',
    rule.why,
    '',
    `*Remedy:* ${rule.remedy}`,
    '',
    `*Proof:* \`${rule.proof}\``,
    '',
    ...(rule.experiment === undefined ? [] : [`*Experiment:* ${rule.experiment}`, '']),
  ];
}
