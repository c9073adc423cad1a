// Why an arm is not run: what it needs cannot be had here, or would not be safe. Pure.

import type { Arm } from './plan.js';

export interface SkipFacts {
  /** Why interrupts cannot be placed; undefined where they can. */
  readonly placementProblem: string | undefined;
  /** Whether the command's bytes go through the plugin. */
  readonly isPlugin: boolean;
  readonly socketsPerChannel: number;
  /** Sockets for each NIC; undefined: no limit. */
  readonly socketBudget: number | undefined;
}

export function skipReason(arm: Arm, facts: SkipFacts): string | undefined {
  const { placementProblem, isPlugin, socketsPerChannel, socketBudget } = facts;
  if (arm.interrupts === 'matched' && placementProblem !== undefined) {
    return `interrupts cannot be placed: ${placementProblem}`;
  }
  const nicCount = Math.max(1, arm.nics.length);
  const channels = Math.ceil((arm.channels ?? 1) / nicCount);
  const sockets = channels * socketsPerChannel;
  if (!isPlugin || socketBudget === undefined || sockets <= socketBudget) return undefined;
  return (
    `not safe: ${channels} channels of ${socketsPerChannel} sockets are ${sockets} on one NIC, ` +
    `more than ${socketBudget} (tcpx.socketBudget)`
  );
}
