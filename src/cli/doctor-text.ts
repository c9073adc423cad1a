// A diagnosis as text: what fails first, under a title that says what was found; what passed in a
// line each, what could not be asked folded into one.

import type { Diagnosis } from '../diag/doctor.js';
import type { Finding } from '../diag/rule.js';

export function formatDiagnosis(diagnosis: Diagnosis, isLong: boolean): string {
  const { counts, findings, provenBy } = diagnosis;
  const proven =
    provenBy === undefined
      ? []
      : [`environment proven by ${provenBy}: findings about the system come last\n\n`];
  const bad = [...withStatus(findings, 'fail'), ...withStatus(findings, 'warn')];
  const skipped = withStatus(findings, 'skip');
  const passed = withStatus(findings, 'pass');
  const parts = [
    ...proven,
    ...bad.map(longBlock),
    ...(bad.length > 0 ? ['\n'] : []),
    ...passed.map(isLong ? longBlock : (finding) => `pass  ${finding.title} (${finding.id})\n`),
    ...(isLong ? skipped.map(longBlock) : foldedSkips(skipped)),
    `\n${counts.fail} fail, ${counts.warn} warn, ${counts.pass} pass, ` +
      `${counts.skip} not known or not asked (provider ${diagnosis.provider})\n`,
  ];
  return parts.join('');
}

function withStatus(findings: readonly Finding[], status: Finding['status']): readonly Finding[] {
  return findings.filter((finding) => finding.status === status);
}

function longBlock(finding: Finding): string {
  const { status, id, evidence, title } = finding;
  // What was found is the title; a passed rule is found to be as its title says.
  const [found = title, ...rest] = status === 'pass' ? [title, ...evidence] : evidence;
  const more = rest.map((line) => `        ${line}\n`).join('');
  return (
    `${status.padEnd(5)} ${found} (${id})\n${more}` +
    `      why:    ${finding.why}\n      remedy: ${finding.remedy}\n` +
    `      proof:  ${finding.proof}\n`
  );
}

function foldedSkips(skipped: readonly Finding[]): readonly string[] {
  if (skipped.length === 0) return [];
  const ids = skipped.map(({ id }) => id).join(', ');
  return [`skip  ${ids}\n      (--all says what is missing)\n`];
}
