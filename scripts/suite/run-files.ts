// Test files in the order in which they keep two cores busy: what bears neighbours, three at a time
// because each waits now and then, dear folders
// first, beside it one by one what mostly waits, and then one by one what has to be alone.

import { run } from 'node:test';
import { runsAlone } from './alone.js';
import type { TestEvent } from './reporter.js';

/** Parts of paths: files that wait for most of their time, and bear neighbours. */
export const WAITING: readonly string[] = [
  '/agent-killed.', // peers that are noticed to be gone
  '/emulator-faults.', // silence
  '/emulator.', // set-up steps of the original
  '/etcd-store.', // leases
  '/rail-end.', // processes that do not end
  '/slow-faults.', // links that are down for seconds
  '/tcpx-threads.', // samples of threads over time
  '/tcpx-wait.', // waits that are given up
];
/** Tests of whole processes are the dear ones; units fill what is left at the end. */
const FOLDERS = ['/dist/test/', '/dist/scripts/', '/dist/examples/', '/dist/src/'];

export async function* runFiles(files: readonly string[], atOnce: number) {
  const ordered = [...files].sort((left, right) => folderIndex(left) - folderIndex(right));
  const alone = ordered.filter(runsAlone);
  const waiting = ordered.filter((path) => !runsAlone(path) && waits(path));
  const together = ordered.filter((path) => !runsAlone(path) && !waits(path));
  const waited = collect(runSome(waiting, 1));
  yield* runSome(together, atOnce);
  yield* await waited;
  yield* runSome(alone, 1);
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
