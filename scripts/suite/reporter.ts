// What a run of tests reports, as node's own reporter `spec` prints it, and some things more: skips
// by name and reason, files that did not end, what was dear, and one closing summary for all runs.
// A skip is loud everywhere; where CI=true it fails the run, unless it waits for something that
// machines of continuous integration never have.

import { Readable } from 'node:stream';
import { spec } from 'node:test/reporters';
import { cpuSecondsOf, FileWatch } from './file-watch.js';

/** The part of node's events that is looked at here. */
export interface TestEvent {
  readonly type: string;
  readonly data: {
    readonly name?: string;
    readonly file?: string | undefined;
    readonly skip?: string | boolean;
    readonly todo?: string | boolean;
    readonly nesting?: number;
    readonly message?: string;
  };
}

interface Outcome {
  readonly counts: Map<string, number>;
  readonly skips: string[];
  readonly failures: string[];
}

/** How a reason must begin for its skip to pass in continuous integration. */
const NEVER_IN_CI: readonly string[] = ['needs a GPU', 'needs PyTorch'];
const UNEXCUSED = ', which no lack of hardware excuses';
const COUNT = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ([\d.]+)$/;
const FILE_MS_MAX = Number(process.env['TEST_FILE_MS_MAX'] ?? 600_000);
/** CPU seconds of a whole run; more fail it. None where nobody names them: hosts differ. */
const CPU_SECONDS_MAX = Number(process.env['TEST_CPU_SECONDS_MAX'] ?? Infinity);
const DEAREST_COUNT = Number(process.env['TEST_DEAREST'] ?? 10);

/** What a run came to. */
export interface Verdict {
  /** Files with a test that failed, and what is no file of ours. */
  readonly failedFiles: Set<string>;
  /** Something else is not well. */
  isRefused: boolean;
}

/** The lines; writes into the verdict. */
export async function* report(
  source: AsyncIterable<TestEvent>,
  verdict: Verdict,
): AsyncGenerator<string> {
  const outcome: Outcome = { counts: new Map(), skips: [], failures: [] };
  const watch = new FileWatch(FILE_MS_MAX);
  yield* Readable.from(note(source, outcome)).pipe(new spec());
  watch.stop();
  const { skips } = outcome;
  const failures = new Set([...outcome.failures, ...watch.killed]);
  for (const line of failures) yield `\n✖ ${line}\n`;
  if (skips.length > 0) yield `\nskipped ${skips.length}:\n  ${skips.join('\n  ')}\n`;
  const seconds = cpuSecondsOf('self');
  yield describeCost(seconds, watch);
  const forbidden = skips.filter((line) => line.endsWith(UNEXCUSED)).length;
  const isForbidden = forbidden > 0 && process.env['CI'] === 'true';
  if (isForbidden) yield `\n${forbidden} skips are not allowed where CI=true\n`;
  const isDear = seconds > CPU_SECONDS_MAX;
  if (isDear) yield `\n✖ more than TEST_CPU_SECONDS_MAX=${CPU_SECONDS_MAX}\n`;
  for (const line of failures) verdict.failedFiles.add(line.slice(0, line.indexOf(': ')));
  verdict.isRefused = isForbidden || isDear;
}

/** Wall time says little about a test that has neighbours. */
function describeCost(seconds: number, watch: FileWatch): string {
  const rows = watch
    .dearest(DEAREST_COUNT)
    .map(([file, each]) => `  ${each.toFixed(1).padStart(6)} ${file}`);
  return `\nCPU seconds: ${seconds.toFixed(0)} in all; the dearest files\n${rows.join('\n')}\n`;
}

/** Passes events on; the closing summaries of all runs become one. */
async function* note(source: AsyncIterable<TestEvent>, outcome: Outcome) {
  const startMs = Date.now();
  let summary: TestEvent | undefined;
  for await (const event of source) {
    const { skip, todo, file, name } = event.data;
    const place = `${file ?? '?'}: ${name ?? '?'}`;
    if (event.type === 'test:pass' && isMarked(skip)) {
      outcome.skips.push(`${place}: ${describeSkip(skip)}`);
    }
    if (event.type === 'test:fail' && !isMarked(todo)) outcome.failures.push(place);
    if (event.type === 'test:summary' && file === undefined) summary = event;
    else if (!addCount(event, outcome.counts)) yield event;
  }
  outcome.counts.set('duration_ms', Date.now() - startMs);
  for (const [label, count] of outcome.counts) {
    yield { type: 'test:diagnostic', data: { nesting: 0, message: `${label} ${count}` } };
  }
  if (summary !== undefined) yield summary;
}

/** Whether it was a line of a closing summary. */
function addCount({ type, data }: TestEvent, counts: Outcome['counts']): boolean {
  if (type !== 'test:diagnostic' || data.nesting !== 0) return false;
  const [, label, count] = COUNT.exec(data.message ?? '') ?? [];
  if (label === undefined) return false;
  counts.set(label, (counts.get(label) ?? 0) + Number(count));
  return true;
}

function describeSkip(skip: string | boolean | undefined): string {
  const reason = typeof skip === 'string' && skip !== '' ? skip : '(no reason given)';
  return NEVER_IN_CI.some((prefix) => reason.startsWith(prefix)) ? reason : reason + UNEXCUSED;
}

// An empty reason is still a mark.
function isMarked(mark: string | boolean | undefined): boolean {
  return mark !== undefined && mark !== false;
}
