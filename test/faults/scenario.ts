// What a scenario is made of: links, a transfer that has started, and what must hold when it ends.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { type NetLab, openNetLab } from '../support/net-lab.js';
import { type Fact, FaultRun } from './fault-run.js';

export interface Outcome {
  /** Until the fault was acted upon, where there is something to notice. */
  readonly noticedMs?: number;
  /** Until data moved as before, or the typed error came. */
  readonly recoveredMs?: number;
}

export interface Scenario {
  readonly name: string;
  readonly promise: string;
  /** Four, unless it needs more. */
  readonly links?: number;
  /** Something is measured long after the fault: the transfer must last. */
  readonly isLong?: boolean;
  /** It promises something within a second, or that nobody notices: busy neighbours break it. */
  readonly isTight?: boolean;
  run(lab: NetLab, bytes: number, fullShare: number): Promise<Outcome>;
}

/** Nothing is wrong but a time, for which a busy machine may be to blame. */
export class LateError extends Error {}

export function assertInTime(isInTime: boolean, what: string): void {
  if (!isInTime) throw new LateError(what);
}

export const LINKS = 4;
/** What is still the full rate, as a share of it. */
export const FULL_SHARE = 0.9;
/** Share of the transfer that is over when the fault comes. */
const BEFORE = 0.3;

/** What one link of the lab carries; all have the same rate. */
export function linkBytesPerMs({ links: [link] }: NetLab): number {
  assert.ok(link !== undefined && link.rateMbit > 0, 'links of a fault lab have a rate');
  return (link.rateMbit * 1000) / 8;
}

export async function inMid(run: FaultRun, bytes: number): Promise<void> {
  const afterMs = (bytes / (LINKS * linkBytesPerMs(run.lab))) * BEFORE;
  await Promise.all([
    sleep(afterMs),
    run.initiator.next('samples', (fact) => fact.nics !== undefined),
  ]);
}

export function setLink(lab: NetLab, index: number, state: 'up' | 'down'): void {
  execFileSync('ip', ['-n', lab.left, 'link', 'set', lab.links[index]?.leftNic ?? '', state]);
}

/** Payload whole, one notification, one completion. */
export async function assertWhole(run: FaultRun, bytes: number): Promise<Fact> {
  const fact = await run.receipt();
  assert.equal(fact.receipt.bytesConfirmed, bytes, 'bytes confirmed');
  assert.equal(await run.mismatch(), -1, 'first wrong byte');
  assert.equal(run.landedCount, 1, 'notifications');
  return fact;
}

export async function started(
  lab: NetLab,
  bytes: number,
  operation: 'write' | 'read',
  act: (run: FaultRun) => Promise<Outcome>,
  extra: Partial<Parameters<typeof FaultRun.start>[0]> = {},
): Promise<Outcome> {
  const run = await FaultRun.start({ lab, bytes, operation, ...extra });
  try {
    return await act(run);
  } finally {
    await run.end();
  }
}

/** As many links as any scenario needs. */
export function openFaultLab(rateMbit: number): NetLab {
  return openNetLab(Array.from({ length: LINKS + 1 }, () => rateMbit));
}

export async function runScenario(
  lab: NetLab,
  scenario: Scenario,
  bytes: number,
  fullShare = FULL_SHARE,
): Promise<Outcome> {
  lab.restore();
  const links = lab.links.slice(0, scenario.links ?? LINKS);
  return scenario.run({ ...lab, links }, bytes, fullShare);
}
