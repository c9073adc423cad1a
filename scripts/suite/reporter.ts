// What `node --test` reports, as its own reporter `spec` prints it, and two things more: skips by
// name and reason, and an end to files that do not end. A skip is loud everywhere; where CI=true
// it fails the run, unless it waits for something that machines of continuous integration never
// have. The release decides whether `--test-timeout` ends a file or only a test, so we end files.

import { readFileSync, statSync } from 'node:fs';
import { Readable } from 'node:stream';
import { spec } from 'node:test/reporters';

/** The part of node's events that is looked at here. */
interface TestEvent {
  readonly type: string;
  readonly data: {
    readonly name?: string;
    readonly file?: string | undefined;
    readonly skip?: string | boolean;
  };
}

/** How a reason must begin for its skip to pass in continuous integration. */
const NEVER_IN_CI: readonly string[] = ['needs a GPU', 'needs PyTorch'];
const FILE_MS_MAX = Number(process.env['TEST_FILE_MS_MAX'] ?? 300_000);
const LOOK_EVERY_MS = 1000;

export default async function* report(source: AsyncIterable<TestEvent>) {
  const skips: string[] = [];
  let forbidden = 0;
  async function* noteSkips(): AsyncGenerator<TestEvent> {
    for await (const event of source) {
      const { skip, file, name } = event.data;
      if (event.type === 'test:pass' && skip !== undefined && skip !== false) {
        // An empty reason is still a skip.
        const reason = typeof skip === 'string' ? skip : '';
        const isExcused = NEVER_IN_CI.some((prefix) => reason.startsWith(prefix));
        if (!isExcused) forbidden++;
        const mark = isExcused ? '' : ', which no lack of hardware excuses';
        skips.push(`  ${file ?? '?'}: ${name ?? '?'}: ${reason || '(no reason given)'}${mark}\n`);
      }
      yield event;
    }
  }
  const killed: string[] = [];
  const timer = setInterval(() => killed.push(...endOverdueFiles()), LOOK_EVERY_MS);
  yield* Readable.from(noteSkips()).pipe(new spec());
  clearInterval(timer);
  yield* killed;
  if (skips.length > 0) yield `\nskipped ${skips.length}:\n${skips.join('')}`;
  if (forbidden === 0 || process.env['CI'] !== 'true') return;
  yield `\n${forbidden} skips are not allowed where CI=true\n`;
  process.exitCode = 1;
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
    lines.push(`\n${file}: killed, because it has not ended after ${FILE_MS_MAX} ms\n`);
  }
  return lines;
}
