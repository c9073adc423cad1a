// The budget of data sockets per NIC over all processes: who holds how many, and whether more fit.
// Pure: the registry that processes share is kept elsewhere.

import { at } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';

export interface SocketHolder {
  readonly pid: number;
  /** Start time of the process, so that a reused process id is not taken for it. */
  readonly startedAt: string;
  readonly sockets: number;
}

/** `off` is no limit. */
export function parseSocketBudget(text: string): number {
  if (text === 'off') return Number.POSITIVE_INFINITY;
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new TcpxError(
    'ERR_CONFIG_VALUE',
    `tcpx.socketBudget: ${JSON.stringify(text)} is neither a number of 1 to 9999 nor off`,
  );
}

export function heldSockets(holders: readonly SocketHolder[]): number {
  return holders.reduce((sum, holder) => sum + holder.sockets, 0);
}

/** Holders after `claim` was added; refuses by name what the budget does not allow. */
export function claimSockets(
  nic: string,
  holders: readonly SocketHolder[],
  claim: SocketHolder,
  budget: number,
): SocketHolder[] {
  const held = heldSockets(holders);
  if (held + claim.sockets > budget) throw budgetError(nic, holders, claim, budget);
  const own = holders.find((holder) => isSame(holder, claim));
  const others = holders.filter((holder) => !isSame(holder, claim));
  return [...others, { ...claim, sockets: claim.sockets + (own?.sockets ?? 0) }];
}

export function releaseSockets(
  holders: readonly SocketHolder[],
  claim: SocketHolder,
): SocketHolder[] {
  return holders
    .map((holder) =>
      isSame(holder, claim) ? { ...holder, sockets: holder.sockets - claim.sockets } : holder,
    )
    .filter((holder) => holder.sockets > 0);
}

function isSame(a: SocketHolder, b: SocketHolder): boolean {
  return a.pid === b.pid && a.startedAt === b.startedAt;
}

function budgetError(
  nic: string,
  holders: readonly SocketHolder[],
  claim: SocketHolder,
  budget: number,
): TcpxError {
  const named = holders.map((holder) => `process ${holder.pid} holds ${holder.sockets}`);
  const who = named.length === 0 ? 'nobody holds any' : named.join(', ');
  return new TcpxError(
    'ERR_CAP_SOCKET_BUDGET',
    `${nic}: ${claim.sockets} data sockets more exceed the budget of ${budget}; ${who}`,
    { facts: { nic, wanted: claim.sockets, held: heldSockets(holders), budget } },
  );
}

/** One line per holder: `pid start sockets`. Lines that are not that are dropped. */
export function parseHolders(text: string): SocketHolder[] {
  return text.split('\n').flatMap((line) => {
    const match = /^(\d+) (\d+) (\d+)$/.exec(line);
    if (match === null) return [];
    return [{ pid: Number(match[1]), startedAt: at(match, 2), sockets: Number(match[3]) }];
  });
}

export function formatHolders(holders: readonly SocketHolder[]): string {
  return holders.map(({ pid, startedAt, sockets }) => `${pid} ${startedAt} ${sockets}\n`).join('');
}
