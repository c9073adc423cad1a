// Undoes one journal: finds each vector again (its number may have changed since), writes the old
// value, and proves it by reading back. Says what it met that the apply had not left there.

import { parseCpuList } from '../../base/cpu-set.js';
import type { Nic } from '../read/model.js';
import { type AffinityStore, errnoOf, explainErrno } from './affinity-store.js';
import { isSameSet } from './cpu-choice.js';
import type { IrqJournal, JournalEntry } from './journal.js';
import { currentIrq } from './known-vector.js';

export interface RollbackLine {
  readonly irq: number;
  readonly nic: string;
  readonly queue: string;
  readonly outcome: 'restored' | 'vanished' | 'failed';
  /** Value before the rollback, the value wanted back, and what is there now. */
  readonly found: string | undefined;
  readonly wanted: string;
  readonly now: string | undefined;
  readonly text: string;
}

export function rollBack(
  journal: IrqJournal,
  nics: readonly Nic[],
  store: AffinityStore,
): readonly RollbackLine[] {
  return [...journal.entries].reverse().map((entry) => rollBackEntry(entry, nics, store));
}

function rollBackEntry(
  entry: JournalEntry,
  nics: readonly Nic[],
  store: AffinityStore,
): RollbackLine {
  const irq = currentIrq(entry, nics);
  const base = { irq: irq ?? entry.irq, nic: entry.nic, queue: entry.queue, wanted: entry.before };
  const none = { found: undefined, now: undefined };
  if (irq === undefined) {
    return { ...base, ...none, outcome: 'vanished', text: 'the vector no longer exists' };
  }
  try {
    const found = store.read(irq);
    store.write(irq, entry.before);
    const now = store.read(irq);
    const isBack = isSame(now, entry.before);
    const outcome = isBack ? 'restored' : 'failed';
    return { ...base, found, now, outcome, text: rollbackText(entry, irq, found, isBack) };
  } catch (error) {
    const errno = errnoOf(error);
    const outcome = errno === 'ENOENT' ? 'vanished' : 'failed';
    return { ...base, ...none, outcome, text: `${errno}: ${explainErrno(errno)}` };
  }
}

function rollbackText(entry: JournalEntry, irq: number, found: string, isBack: boolean): string {
  const notes: string[] = [isBack ? 'read back as before' : 'read back another value'];
  if (irq !== entry.irq) notes.push(`was IRQ ${entry.irq} when applied`);
  const isOurs = isSame(found, entry.wanted) || isSame(found, entry.before);
  if (!isOurs) notes.push(`somebody else had set ${found}`);
  return notes.join('; ');
}

function isSame(left: string, right: string): boolean {
  return isSameSet(parseCpuList(left) ?? [], parseCpuList(right) ?? []);
}
