// Runs compiled test files through node's own runner, a process each, and reports as node does.
// Each file is a run of its own, ended by a signal after its time: what the runner's `timeout`
// means (a file or a single test) differs between Node versions, and a hung file must not hang us.

import { once } from 'node:events';
import { relative } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import type { Skip } from './skips.js';
import { Summary } from './summary.js';
import type { TestEvent } from './test-event.js';

export interface RunOptions {
  readonly files: readonly string[];
  readonly root: string;
  readonly concurrency: number;
  readonly fileTimeoutMs: number;
}

export interface RunResult {
  readonly hasFailure: boolean;
  readonly skips: readonly Skip[];
}

export async function runFiles(options: RunOptions): Promise<RunResult> {
  const startMs = performance.now();
  const summary = new Summary();
  const reporter = new spec();
  reporter.pipe(process.stdout, { end: false });
  const waiting = [...options.files];
  const work = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      // The reporter expects one file after the other: with several at a time, one in a piece.
      const held: TestEvent[] = [];
      const report = (event: TestEvent): void => {
        if (options.concurrency > 1) held.push(event);
        else reporter.write(event);
      };
      await runFile(file, options.fileTimeoutMs, (event) => {
        if (!summary.take(event)) report(event);
      });
      for (const event of held) reporter.write(event);
    }
  };
  await Promise.all(Array.from({ length: options.concurrency }, work));
  for (const event of summary.closingEvents(performance.now() - startMs)) reporter.write(event);
  reporter.end();
  await once(reporter, 'end');
  const skips = summary.skips.map((skip) => ({ ...skip, path: relative(options.root, skip.path) }));
  return { hasFailure: summary.hasFailure, skips };
}

async function runFile(file: string, timeoutMs: number, see: (event: TestEvent) => void) {
  const controller = new AbortController();
  const timer = setTimeout(() => {
    controller.abort(new Error(`${file} timed out after ${timeoutMs} ms`));
  }, timeoutMs);
  try {
    const events = run({ files: [file], concurrency: 1, signal: controller.signal });
    for await (const event of events) see(event as TestEvent);
  } finally {
    clearTimeout(timer);
  }
}
