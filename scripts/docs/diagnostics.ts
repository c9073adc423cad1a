// Renders docs/diagnostics.md from the doctor's rules.

import type { Rule } from '../../src/diag/rule.js';
import { RULES } from '../../src/diag/rules.js';

export function renderDiagnostics(): string {
  const rows = RULES.map((rule) => `| \`${rule.id}\` | ${rule.area} | ${rule.title} |`);
  return [
    '# What tcpx doctor checks',
    '',
    'Generated from the rules in `src/diag/rules`. Each is pass, warn, fail, or not asked with the',
    'reason; `tcpx doctor` exits 1 when one fails. Where a reference run on the host moved',
    'device-memory packets (`reference.devmem`), findings of area *system* rank last.',
    '',
    '| rule | area | asks |',
    '| --- | --- | --- |',
    ...rows,
    '',
    ...RULES.flatMap(ruleSection),
  ].join('\n');
}

function ruleSection(rule: Rule): string[] {
  return [
    `## ${rule.id}`,
    '',
    `**${rule.title}.**`,
    '',
    rule.why,
    '',
    `*Remedy:* ${rule.remedy}`,
    '',
    `*Proof:* \`${rule.proof}\``,
    '',
  ];
}
