// What an apply changed, kept so that it can be undone exactly, also after a crash: the state
// before is on disk before the first write. One file per apply; the newest is undone first.

import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { TcpxError, toTcpxError } from '../../base/errors.js';
import { makeFolder } from '../../base/make-folder.js';
import type { KnownVector } from './known-vector.js';
import type { XpsEntry } from './xps-store.js';

export const IRQ_JOURNAL_SCHEMA = 'tcpx.irq-journal/1';

/**
 * applying: written before the first change; found later, it means that the apply died midway.
 * applied: every line holds. restored: the apply failed and all was put back.
 * restore-failed: it failed and some lines could not be put back. rolled-back: undone on request.
 */
export type JournalState = 'applying' | 'applied' | 'restored' | 'restore-failed' | 'rolled-back';

export interface JournalEntry extends KnownVector {
  /** Requested CPUs as the kernel printed them. */
  readonly before: string;
  readonly wanted: string;
  readonly after: string | undefined;
}

export interface IrqJournal {
  readonly schema: typeof IRQ_JOURNAL_SCHEMA;
  /** Sorts by time: 20260131_235959_123. */
  readonly id: string;
  readonly hostname: string | undefined;
  /** The kernel starts every boot with its own values: an older journal has nothing to undo. */
  readonly bootId: string | undefined;
  readonly policy: string;
  readonly state: JournalState;
  readonly entries: readonly JournalEntry[];
  /** Masks of send queues; absent where the plan left them alone. */
  readonly xps?: readonly XpsEntry[];
}

const NAME = /^irq-journal-(.+)\.json$/;

function journalPath(folder: string, id: string): string {
  return join(folder, `irq-journal-${id}.json`);
}

/** The plan of one apply, kept beside its journal. */
export function appliedPlanPath(folder: string, id: string): string {
  return join(folder, `irq-plan-${id}.json`);
}

/** The plan that is in force: that of the newest apply which has not been undone. */
export function currentPlanPath(folder: string, bootId: string | undefined): string | undefined {
  const newest = openJournals(folder, bootId).find(({ state }) => state === 'applied');
  return newest === undefined ? undefined : appliedPlanPath(folder, newest.id);
}

/** Written aside, synced and renamed: a crash leaves the old file or the new one. */
export function saveJournal(folder: string, journal: IrqJournal): void {
  saveDocument(journalPath(folder, journal.id), folder, journal);
}

export function saveDocument(path: string, folder: string, document: unknown, mode = 0o644): void {
  // Of this process alone: another may be saving the same document.
  const fresh = `${path}.${process.pid}.new`;
  try {
    makeFolder(folder);
    writeSynced(fresh, `${JSON.stringify(document, null, 2)}\n`, mode);
    renameSync(fresh, path);
  } catch (error) {
    if (existsSync(fresh)) rmSync(fresh, { force: true });
    throw toTcpxError(error, 'ERR_SYS_CALL', `save ${path}`);
  }
}

function writeSynced(path: string, text: string, mode: number): void {
  const fd = openSync(path, 'w', mode);
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Journals of this boot that still have something to undo, newest first. */
export function openJournals(folder: string, bootId: string | undefined): readonly IrqJournal[] {
  return journalIds(folder)
    .map((id) => loadJournal(folder, id))
    .filter((journal) => journal.bootId === bootId)
    .filter(({ state }) => state !== 'restored' && state !== 'rolled-back');
}

function journalIds(folder: string): readonly string[] {
  try {
    const names = readdirSync(folder).map((name) => NAME.exec(name)?.[1]);
    return names
      .filter((id) => id !== undefined)
      .sort()
      .reverse();
  } catch {
    return [];
  }
}

function loadJournal(folder: string, id: string): IrqJournal {
  const path = journalPath(folder, id);
  let document: Partial<IrqJournal>;
  try {
    // checked: below, by schema
    document = JSON.parse(readFileSync(path, 'utf8')) as Partial<IrqJournal>;
  } catch (error) {
    throw toTcpxError(error, 'ERR_SYS_CALL', `read journal ${path}`);
  }
  if (document.schema !== IRQ_JOURNAL_SCHEMA || !Array.isArray(document.entries)) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', `${path} is not a journal (${IRQ_JOURNAL_SCHEMA})`);
  }
  return document as IrqJournal;
}

/** `20260131_235959_123` in UTC: file names sort by time. */
export function timeStamp(time: Date): string {
  return time
    .toISOString()
    .replaceAll(/[-:]/g, '')
    .replace('T', '_')
    .replace('.', '_')
    .slice(0, 19);
}
