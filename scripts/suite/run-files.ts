// Runs compiled test files through node's own runner, a process each, and reports as node does.

import { once } from 'node:events';
import { relative } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import type { Skip } from './skips.js';

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
  const skips: Skip[] = [];
  let hasFailure = false;
  const events = run({
    files: [...options.files],
    concurrency: options.concurrency,
    timeout: options.fileTimeoutMs,
  });
  events.on('test:fail', ({ todo }) => {
    if (todo === undefined || todo === false) hasFailure = true;
  });
  events.on('test:pass', ({ name, file, skip }) => {
    if (skip === undefined || skip === false) return;
    const path = file === undefined ? '' : relative(options.root, file);
    skips.push({ path, name, reason: typeof skip === 'string' ? skip : '' });
  });
  const report = events.pipe(new spec());
  report.pipe(process.stdout, { end: false });
  await once(report, 'end');
  return { hasFailure, skips };
}
