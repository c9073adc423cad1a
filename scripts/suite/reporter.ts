// What `node --test` reports, as its own reporter `spec` prints it, and three things more: skips by
// name and reason, an end to files that do not end, and one closing summary for two runs. A skip is
// loud everywhere; where CI=true it fails the run, unless it waits for something that machines of
// continuous integration never have. We end files ourselves, because the release of Node decides
// whether `--test-timeout` ends a file or a single test.

import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { spec } from 'node:test/reporters';

/** The part of node's events that is looked at here. */
interface TestEvent {
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

/** What a run hands on to the next one, which prints it. */
interface Outcome {
  readonly counts: Record<string, number>;
  readonly skips: string[];
  readonly failures: string[];
}

/** How a reason must begin for its skip to pass in continuous integration. */
const NEVER_IN_CI: readonly string[] = ['needs a GPU', 'needs PyTorch'];
const UNEXCUSED = ', which no lack of hardware excuses';
const COUNT = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ([\d.]+)$/;
const FILE_MS_MAX = Number(process.env['TEST_FILE_MS_MAX'] ?? 300_000);
const LOOK_EVERY_MS = 1000;
const earlierPath = process.env['TEST_EARLIER'];
const laterPath = process.env['TEST_LATER'];

export default async function* report(source: AsyncIterable<TestEvent>) {
  const outcome = earlierOutcome();
  const earlierFailures = [...outcome.failures];
  const timer = setInterval(() => outcome.failures.push(...endOverdueFiles()), LOOK_EVERY_MS);
  yield* Readable.from(note(source, outcome)).pipe(new spec());
  clearInterval(timer);
  if (laterPath !== undefined) {
    writeFileSync(laterPath, JSON.stringify(outcome));
    return;
  }
  const killed = outcome.failures.filter((line) => line.includes(': killed'));
  for (const line of new Set([...earlierFailures, ...killed])) yield `\n✖ ${line}\n`;
  const { skips } = outcome;
  if (skips.length > 0) yield `\nskipped ${skips.length}:\n  ${skips.join('\n  ')}\n`;
  const forbidden = skips.filter((line) => line.endsWith(UNEXCUSED)).length;
  if (forbidden === 0 || process.env['CI'] !== 'true') return;
  yield `\n${forbidden} skips are not allowed where CI=true\n`;
  process.exitCode = 1;
}

function earlierOutcome(): Outcome {
  if (earlierPath === undefined) return { counts: {}, skips: [], failures: [] };
  return JSON.parse(readFileSync(earlierPath, 'utf8')) as Outcome;
}

/** Passes events on; the counts of the closing summary become those of all runs. */
async function* note(source: AsyncIterable<TestEvent>, outcome: Outcome) {
  for await (const event of source) {
    const { skip, todo, file, name } = event.data;
    const place = `${file ?? '?'}: ${name ?? '?'}`;
    if (event.type === 'test:pass' && isMarked(skip)) {
      outcome.skips.push(`${place}: ${describeSkip(skip)}`);
    }
    if (event.type === 'test:fail' && !isMarked(todo)) outcome.failures.push(place);
    const sum = addCount(event, outcome.counts);
    if (sum === undefined) yield event;
    else if (laterPath === undefined) yield { ...event, data: { ...event.data, message: sum } };
  }
}

/** The line with the sum of all runs, of a line of the closing summary; undefined of all else. */
function addCount({ type, data }: TestEvent, counts: Outcome['counts']): string | undefined {
  if (type !== 'test:diagnostic' || data.nesting !== 0) return undefined;
  const [, label, count] = COUNT.exec(data.message ?? '') ?? [];
  if (label === undefined) return undefined;
  const sum = (counts[label] ?? 0) + Number(count);
  counts[label] = sum;
  return `${label} ${sum}`;
}

function describeSkip(skip: string | boolean | undefined): string {
  const reason = typeof skip === 'string' && skip !== '' ? skip : '(no reason given)';
  return NEVER_IN_CI.some((prefix) => reason.startsWith(prefix)) ? reason : reason + UNEXCUSED;
}

// An empty reason is still a mark.
function isMarked(mark: string | boolean | undefined): boolean {
  return mark !== undefined && mark !== false;
}

/** Children of this process, which are one test file each, that are older than a file may be. */
function endOverdueFiles(): string[] {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8');
  const lines: string[] = [];
  for (const pid of children.split(' ').filter(Boolean)) {
    const stat = statSync(`/proc/${pid}`, { throwIfNoEntry: false });
    if (stat === undefined || Date.now() - stat.ctimeMs < FILE_MS_MAX) continue;
    const file = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').at(-2) ?? pid;
    process.kill(Number(pid), 'SIGKILL');
    lines.push(`${file}: killed, because it has not ended after ${FILE_MS_MAX} ms`);
  }
  return lines;
}
