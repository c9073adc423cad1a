// The page IRQ_BINDING_RESULTS.md from the results of an experiment: what was compared, what is
// best, what it gains, what is missing, and what was learnt, negative results included. Pure.

import { medianOf } from '../bench/statistics.js';
import { safeWords } from '../diag/bundle/safe-variables.js';
import { changeText, percent } from './decision.js';
import type { ExperimentRecord } from './record.js';
import type { ArmRow, ExperimentResults } from './results.js';

export const RESULTS_FILE = 'IRQ_BINDING_RESULTS.md';

export interface PageExtras {
  /** First divergence of call traces, NIC against NIC. */
  readonly traces: readonly string[];
  /** Of an experiment after a fix, beside which this one is the state before. */
  readonly after: ExperimentRecord | undefined;
}

export function resultsPage(
  results: ExperimentResults,
  record: ExperimentRecord,
  { traces, after }: PageExtras,
): string {
  const parts = [
    `# ${results.title}\n\n${overview(results, record)}`,
    section('All tests', testTable(results)),
    section('Best configuration', bestText(results)),
    section('Improvement', improvementText(results)),
    section('Remaining gap to NCCL', gapText(results)),
    section('Decision', decisionText(results)),
    ...(results.checks.length === 0 ? [] : [section('Why it gained nothing', checkTable(results))]),
    section('Lessons', lessonText(results)),
    section('Negative results', negativeText(results)),
    ...(traces.length === 0 ? [] : [section('Call traces', bullets(traces))]),
    section('Counters', counterTable(record, after)),
    section('How it was measured', methodText(results, record)),
  ];
  return parts.join('\n');
}

function section(title: string, text: string): string {
  return `## ${title}\n\n${text.trimEnd()}\n`;
}

function bullets(lines: readonly string[]): string {
  return lines.map((line) => `- ${cell(line)}\n`).join('');
}

/** Text of hosts and logs must not break a table or the page. */
function cell(text: string): string {
  return text
    .replaceAll(/[\r\n]+/g, ' ')
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |\n`;
  return `${line(head)}${line(head.map(() => '---'))}${rows.map(line).join('')}`;
}

function overview(results: ExperimentResults, { startedAt, words }: ExperimentRecord): string {
  const { evidence, placement, hostname, state } = results;
  const where = `Evidence: **${evidence}**, on ${hostname}, begun ${startedAt}. ${placement.text}`;
  const unfinished =
    state === 'done' ? '' : `\n\n**${state}**: what follows is what there is so far.`;
  return `${where}.${unfinished}\n\n\`\`\`\n${safeWords(words).join(' ')}\n\`\`\`\n`;
}

const number = (value: number | undefined, digits: number) =>
  value === undefined ? 'N/A' : value.toFixed(digits);

function testTable({ rows }: ExperimentResults): string {
  const head = [
    ...['test', 'interrupts', 'variables', 'channels', 'runs', 'median GB/s', 'range'],
    ...['against the first (interval)', 'verdict', 'p50 µs', 'context switches'],
    ...['cache misses', 'remote NUMA'],
  ];
  return table(head, rows.map(testRow));
}

function testRow(row: ArmRow): readonly string[] {
  const { arm, runs, medianGBps, lowGBps, highGBps, change, leftOut } = row;
  const facts = [
    ...[arm.name, arm.interrupts, arm.variables, String(arm.channels ?? '-'), String(runs)],
    ...[
      number(medianGBps, 2),
      lowGBps === undefined ? 'N/A' : `${lowGBps.toFixed(2)} to ${number(highGBps, 2)}`,
    ],
  ];
  const verdict = leftOut === undefined ? (change?.verdict ?? '-') : `left out: ${leftOut}`;
  return [
    ...facts,
    change === undefined ? '-' : changeText(change),
    verdict,
    number(row.latencyP50Us, 0),
    number(row.contextSwitches, 0),
    number(row.cacheMisses, 0),
    number(row.remoteNumaAccesses, 0),
  ];
}

function bestText({ best, rows, decision }: ExperimentResults): string {
  if (best === undefined) return 'No arm has a figure.';
  const { arm } = rows.find((row) => row.arm.name === best.arm) ?? {};
  const what = `interrupts ${arm?.interrupts ?? '?'}, variables ${arm?.variables ?? '?'}`;
  const proven =
    decision.best === best.arm
      ? 'Its gain is proven.'
      : 'That it is best is not proven: see the intervals.';
  return `**${best.arm}** (${what}): median ${best.GBps.toFixed(2)} GB/s. ${proven}`;
}

function improvementText({ rows, attribution }: ExperimentResults): string {
  const changes = rows.flatMap(({ change }) => (change === undefined ? [] : [change]));
  const lines = changes.map((one) => `${one.arm}: ${changeText(one)}, ${one.verdict}`);
  const parts = attribution.parts.map((part) => `${part.what}: ${changeText(part)}`);
  const text = lines.length === 0 ? 'Nothing could be compared.\n' : bullets(lines);
  if (attribution.text === '') return text;
  return `${text}\nAttribution: ${attribution.text}\n\n${bullets(parts)}`;
}

function gapText({ reference, best }: ExperimentResults): string {
  if (reference === undefined || best === undefined) return 'Not known: no arm has a figure.';
  const { name, GBps, evidence, ratio, gapGBps, remark } = reference;
  return (
    `${best.arm} moves ${best.GBps.toFixed(2)} GB/s, ${(100 * ratio).toFixed(0)} % of ${name} ` +
    `(${GBps.toFixed(1)} GB/s, evidence: ${evidence}); ${gapGBps.toFixed(2)} GB/s are missing. ` +
    remark
  );
}

function decisionText({ decision, rule, isCapped }: ExperimentResults): string {
  const cap = isCapped
    ? '\n\nMore runs would have been needed than the cap allows: what is not proven is undecided.'
    : '';
  return (
    `**${decision.outcome}**: ${cell(decision.reason)}. ${decision.consequence}${cap}\n\n` +
    `Rule: ${rule}`
  );
}

function checkTable({ checks }: ExperimentResults): string {
  const rows = checks.map(({ question, verdict, evidence }) => [question, verdict, evidence]);
  return table(['question', 'answer', 'seen'], rows);
}

function lessonText({ decision, attribution, spreadPercent, rows, placement }: ExperimentResults) {
  const noisy = rows.filter(({ runs }) => runs > 0).length;
  const lines = [
    `outcome ${decision.outcome}: ${decision.consequence}`,
    ...(attribution.text === '' ? [] : [attribution.text]),
    ...(spreadPercent === undefined
      ? []
      : [`a run of this command differs from the next by ${spreadPercent.toFixed(1)} %`]),
    ...(placement.kind === 'irq' ? [] : [`about interrupts it says nothing: ${placement.text}`]),
    `${noisy} of ${rows.length} arms were measured`,
  ];
  return bullets(lines);
}

/** Never empty: that nothing failed is a result too. */
function negativeText({ rows, invalid, skipped, dropped }: ExperimentResults): string {
  const lines = [
    ...rows.flatMap(({ change }) =>
      change === undefined || change.verdict === 'faster'
        ? []
        : [`${change.arm} is ${change.verdict}: ${changeText(change)}`],
    ),
    ...skipped.map(({ arm, reason }) => `${arm} was not run: ${reason}`),
    ...dropped.map(({ arm, reason }) => `${arm} was dropped: ${reason}`),
    ...invalid.map((text) => `did not count: ${text}`),
  ];
  if (lines.length > 0) return bullets(lines);
  const isCompared = rows.slice(1).every(({ change }) => change !== undefined);
  return isCompared
    ? 'None: every arm was measured and is faster.'
    : 'None so far: not every arm has been compared.';
}

/** Sums over the counted runs of each arm; before and after a fix side by side. */
function counterTable(record: ExperimentRecord, after: ExperimentRecord | undefined): string {
  const rows = record.plan.arms.map(({ name }) => [
    name,
    ...countersOf(record, name),
    ...(after === undefined ? [] : countersOf(after, name)),
  ]);
  const head = [
    ...['interrupts by NIC', 'device-memory packets by NIC', 'in flight at most'],
    ...['busy CPUs', 'runs that failed a check'],
  ];
  if (after === undefined) return table(['test', ...head], rows);
  const both = [...head.map((one) => `${one}, before`), ...head.map((one) => `${one}, after`)];
  return table(['test', ...both], rows);
}

function countersOf(record: ExperimentRecord, arm: string): readonly string[] {
  const all = record.runs.filter((run) => run.arm === arm && run.round >= 0);
  const runs = all.filter(({ isCounted }) => isCounted);
  const sum = (pick: (run: (typeof runs)[number]) => Readonly<Record<string, number>>) => {
    const totals = new Map<string, number>();
    for (const run of runs) {
      for (const [nic, count] of Object.entries(pick(run))) {
        totals.set(nic, (totals.get(nic) ?? 0) + count);
      }
    }
    return totals.size === 0
      ? 'N/A'
      : [...totals].map(([nic, count]) => `${nic}: ${count}`).join(', ');
  };
  const depth = runs.find(({ figures }) => figures.requestDepth !== null)?.figures.requestDepth;
  const parts = Object.entries(depth ?? {}).map(([what, count]) => `${count} ${what}`);
  const busy = runs.flatMap(({ figures }) => figures.busyCpus ?? []);
  return [
    sum(({ figures }) => figures.interruptsByNic),
    sum(({ figures }) => figures.devmemPacketsByNic),
    parts.length === 0 ? 'N/A' : parts.join(', '),
    number(busy.length === 0 ? undefined : medianOf(busy), 1),
    `${all.length - runs.length} of ${all.length}`,
  ];
}

function methodText(results: ExperimentResults, { plan, runs, version }: ExperimentRecord): string {
  const { seed, rounds, spreadPercent } = results;
  const order = runs.filter(({ round }) => round >= 0).map(({ arm }) => arm);
  return bullets([
    `${rounds} whole rounds, every arm once in each, in an order from seed ${seed}`,
    `at least ${plan.roundsMin} rounds, at most ${plan.roundsMax}; so many that a gain of ` +
      `${percent(plan.effect)} is found nine times in ten, by the spread of a run ` +
      `(${spreadPercent === undefined ? 'not known' : `${spreadPercent.toFixed(1)} %`})`,
    `all comparisons together are wrong with ${(100 * plan.alpha).toFixed(1)} % at most; the ` +
      'noise of rounds is taken out; ratios of rates, Student’s distribution',
    'a warm-up run before the first round, kept apart; a bundle around each run, checked after it',
    `order of runs: ${order.join(' ')}`,
    `tcpx ${version}`,
  ]);
}
