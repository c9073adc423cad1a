// An analysis as text: what to act on first, most to be gained at the top.

import { plural } from '../base/units.js';
import { type Analysis, expectedGain, isTrouble } from '../diag/analyze.js';
import { type Finding, STOPS_THE_RUN } from '../diag/rule.js';

export function formatAnalysis(analysis: Analysis, isLong: boolean): string {
  const { findings, counts } = analysis;
  const found = findings.filter(isTrouble);
  const passed = findings.filter(({ status }) => status === 'pass');
  const skipped = findings.filter(({ status }) => status === 'skip');
  const brief = ({ status, title, id, evidence }: Finding) =>
    `${status}  ${title} (${id})${evidence.length === 0 ? '' : `: ${evidence.join('; ')}`}\n`;
  return [
    `${analysis.hostname ?? 'a host that is not named'}: ${analysis.bandwidth}\n\n`,
    ...analysis.interrupts.map((line) => `${line}\n`),
    analysis.interrupts.length === 0 ? '' : '\n',
    ...found.map(block),
    found.length === 0 ? 'nothing found that holds this run back\n\n' : '',
    ...(isLong ? [...passed, ...skipped].map(brief) : passed.map(passedLine)),
    skipped.length === 0 || isLong ? '' : `skip  ${skipped.map(({ id }) => id).join(', ')}\n`,
    `\n${plural(found.length, 'finding')}, ${counts.pass} pass, ` +
      `${counts.skip} not known or not asked\n`,
  ].join('');
}

function passedLine({ title, id }: Finding): string {
  return `pass  ${title} (${id})\n`;
}

function block(finding: Finding): string {
  const { status, id, evidence } = finding;
  const [first = '', ...rest] = evidence;
  const lines = [
    `${status}  ${first} (${id})`,
    ...rest.map((line) => `        ${line}`),
    `      worth:      ${worthText(finding)}`,
    `      why:        ${finding.why}`,
    `      remedy:     ${finding.remedy}`,
    ...(finding.experiment === undefined ? [] : [`      experiment: ${finding.experiment}`]),
    `      proof:      ${finding.proof}`,
    '',
  ];
  return `${lines.join('\n')}\n`;
}

function worthText(finding: Finding): string {
  const { gainPercent, confidence } = finding;
  if (gainPercent === undefined || confidence === undefined) return 'not estimated';
  const sure = `${(confidence * 100).toFixed(0)} % sure`;
  if (gainPercent >= STOPS_THE_RUN / 2) return `the run itself; ${sure}`;
  const expected = expectedGain(finding).toFixed(0);
  return `up to ${gainPercent.toFixed(0)} % more, ${sure}: ${expected} % expected`;
}
