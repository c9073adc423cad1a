// Test files in the order in which they keep two cores busy: two at a time what bears neighbours,
// dear folders first, beside it one by one what mostly waits; then in pairs what bears no crowd,
// and one by one what has to be alone.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from 'node:test';
import { runsAlone, runsInPairs } from './alone.js';
import { groupsOf, writeGroup } from './groups.js';
import type { TestEvent } from './reporter.js';

/** Parts of paths: files that wait for most of their time, and bear neighbours. */
export const WAITING: readonly string[] = [
  '/agent-killed.', // peers that are noticed to be gone
  '/bench-bytes.', // links of a limited rate
  '/bench-slowed.', // the same
  '/emulator-faults.', // silence
  '/emulator.', // set-up steps of the original
  '/etcd-store.', // leases
  '/one-file-missing.', // intervals of a watch, once for each file
  '/rail-end.', // processes that do not end
  '/slow-faults.', // links that are down for seconds
  '/tcpx-hold.', // processes that stay
  '/tcpx-threads.', // samples of threads over time
  '/tcpx-wait.', // waits that are given up
];
/** Tests of whole processes are the dear ones; units fill what is left at the end. */
const FOLDERS = ['/dist/test/', '/dist/scripts/', '/dist/examples/', '/dist/src/'];

/** `onCrowdOver`: from here on files run that leave much of the cores idle. */
export async function* runFiles(
  files: readonly string[],
  atOnce: number,
  onCrowdOver: () => void = () => undefined,
) {
  const { alone, pairs, waiting, crowd } = orderOf(files);
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-tests-'));
  const { groups, apart } = shared(crowd);
  const together = [...apart, ...groups.map((group) => writeGroup(folder, group))];
  const waited = collect(runSome(waiting, 1));
  try {
    yield* runSome(together, atOnce);
  } finally {
    rmSync(folder, { recursive: true });
  }
  onCrowdOver();
  yield* await waited;
  yield* runSome(pairs, Math.min(atOnce, 2));
  yield* runSome(alone, 1);
}

/**
 * For each file all that shared a process with it: where one failed and the process then ended, the
 * end is not told, and those behind have not run.
 */
export function withMates(files: readonly string[], some: readonly string[]): string[][] {
  const { groups } = shared(orderOf(files).crowd);
  const mates = some.map(
    (path) => groups.find((group) => group.files.includes(path))?.files ?? [path],
  );
  return [...new Set(mates)].map((group) => [...group]);
}

function orderOf(files: readonly string[]) {
  const ordered = [...files].sort((left, right) => folderIndex(left) - folderIndex(right));
  const bearing = ordered.filter((path) => !runsInPairs(path) && !runsAlone(path));
  return {
    alone: ordered.filter(runsAlone),
    pairs: ordered.filter((path) => runsInPairs(path) && !runsAlone(path)),
    waiting: bearing.filter(waits),
    crowd: bearing.filter((path) => !waits(path)),
  };
}

function shared(files: readonly string[]) {
  return groupsOf(files, (path) => readFileSync(path, 'utf8'));
}

function waits(path: string): boolean {
  return WAITING.some((part) => path.includes(part));
}

function folderIndex(path: string): number {
  return FOLDERS.findIndex((folder) => path.includes(folder));
}

// Unlike `node --test`, `run` keeps the order.
async function* runSome(files: readonly string[], concurrency: number) {
  if (files.length === 0) return;
  for await (const event of run({ files: [...files], concurrency })) yield event as TestEvent;
}

/** Events of files that run beside others are told later: reporters know one file at a time. */
async function collect(source: AsyncIterable<TestEvent>): Promise<TestEvent[]> {
  const events: TestEvent[] = [];
  for await (const event of source) events.push(event);
  return events;
}
