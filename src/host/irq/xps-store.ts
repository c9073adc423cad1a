// Writes XPS masks below a root folder, all or none, and puts them back. Files are opened without
// O_CREAT, so that a vanished queue is an error and never a new file.

import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { parseCpuMask } from '../../base/cpu-set.js';
import { errnoOf } from './affinity-store.js';
import { isSameSet } from './cpu-choice.js';
import { type XpsLine, xpsPath } from './xps-plan.js';

/** What an apply found and wrote, as a journal keeps it: masks as the kernel prints them. */
export interface XpsEntry {
  readonly nic: string;
  readonly queue: number;
  readonly before: string;
  readonly wanted: string;
}

export interface XpsStore {
  read(nic: string, queue: number): string;
  write(nic: string, queue: number, mask: string): void;
}

export function xpsFolder(root: string): XpsStore {
  const pathOf = (nic: string, queue: number) => join(root, xpsPath(nic, queue));
  return {
    read: (nic, queue) => readFileSync(pathOf(nic, queue), 'utf8').trim(),
    write(nic, queue, mask) {
      const fd = openSync(pathOf(nic, queue), constants.O_WRONLY | constants.O_TRUNC);
      try {
        writeSync(fd, `${mask}\n`);
      } finally {
        closeSync(fd);
      }
    },
  };
}

export interface XpsOutcome {
  readonly entries: readonly XpsEntry[];
  /** What went wrong, queue by queue; empty when nothing did. */
  readonly problems: readonly string[];
}

/** The masks that are there now, for the journal; nothing is written. */
export function readXps(lines: readonly XpsLine[], store: XpsStore): XpsOutcome {
  const entries: XpsEntry[] = [];
  const problems: string[] = [];
  for (const { nic, queue, value } of lines) {
    try {
      entries.push({ nic, queue, before: store.read(nic, queue), wanted: value });
    } catch (error) {
      problems.push(problemText(nic, queue, error));
    }
  }
  return { entries, problems };
}

/** Writes and reads back; where one fails, those before it are put back. */
export function writeXps(entries: readonly XpsEntry[], store: XpsStore): XpsOutcome {
  const written: XpsEntry[] = [];
  for (const entry of entries) {
    const problem = tryWrite(entry, entry.wanted, store);
    written.push(entry);
    if (problem === undefined) continue;
    return { entries: [], problems: [problem, ...restoreXps(written, store).problems] };
  }
  return { entries: written, problems: [] };
}

/** Puts the earlier masks back, last written first. */
export function restoreXps(entries: readonly XpsEntry[], store: XpsStore): XpsOutcome {
  const problems: string[] = [];
  const restored: XpsEntry[] = [];
  for (const entry of [...entries].reverse()) {
    const problem = tryWrite(entry, entry.before, store);
    if (problem === undefined) restored.push(entry);
    else problems.push(`not put back: ${problem}`);
  }
  return { entries: restored, problems };
}

function tryWrite({ nic, queue }: XpsEntry, mask: string, store: XpsStore): string | undefined {
  try {
    store.write(nic, queue, mask);
    const now = store.read(nic, queue);
    const isSame = isSameSet(parseCpuMask(now) ?? [], parseCpuMask(mask) ?? []);
    return isSame ? undefined : `${nic} TX queue ${queue}: wrote ${mask}, read back ${now}`;
  } catch (error) {
    return problemText(nic, queue, error);
  }
}

const MEANINGS: Readonly<Record<string, string>> = {
  EACCES: 'writing needs root',
  EPERM: 'writing needs the right to administer the network (CAP_NET_ADMIN)',
  EROFS: '/sys is mounted read-only, as in most containers',
  ENOENT: 'the queue is gone, or the kernel does not steer it',
};

/** Why a file of a queue below /sys cannot be written. */
export function explainQueueErrno(errno: string): string {
  return MEANINGS[errno] ?? 'the kernel refused';
}

function problemText(nic: string, queue: number, error: unknown): string {
  const errno = errnoOf(error);
  return `${nic} TX queue ${queue}: ${errno}, ${explainQueueErrno(errno)}`;
}
