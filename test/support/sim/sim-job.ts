// One transfer of a simulated program, and what must be true of it when it ends.

import type { LiveSession as Session } from '../../../src/engine/live-session.js';
import type { TransferRequest } from '../../../src/engine/session.js';
import { factsOf, type Transfer } from '../../../src/engine/transfer.js';
import type { Region } from '../../../src/memory/region.js';
import type { SimMemory } from './sim-memory.js';
import type { SimNode } from './sim-node.js';
import type { SessionPair } from './sim-session.js';
import { Violation } from './violation.js';

/** A machine between two starts: a new process has new memory. */
export interface Machine {
  readonly name: string;
  readonly node: SimNode;
  readonly memory: SimMemory;
}

export interface JobBlock {
  readonly localCell: number;
  readonly localAt: number;
  readonly remoteCell: number;
  readonly remoteAt: number;
  readonly bytes: number;
}

export interface Job {
  readonly id: number;
  readonly operation: 'write' | 'read' | 'notify';
  readonly own: Machine;
  readonly peer: Machine;
  readonly pair: SessionPair;
  readonly session: Session;
  readonly transfer: Transfer;
  readonly request: TransferRequest | undefined;
  /** Of its cells, as they were registered when it was posted. */
  readonly regions: readonly Region[];
  readonly blocks: readonly JobBlock[];
  readonly locals: readonly number[];
  readonly remotes: readonly number[];
  readonly postedUs: number;
  /** Codes with which the owner must refuse it; empty when it is good. */
  readonly refusals: readonly string[];
  readonly hasNotification: boolean;
  notified: number;
  isCancelled: boolean;
  /** By the clock of its machine; Infinity without one. */
  readonly deadlineUs: number;
  /** How long its machine had not run when it was posted. */
  readonly pausedMs: number;
  /** A region that it names was deregistered meanwhile. */
  mayBeStale: boolean;
  /** A matched transfer may also fail alone, with its epoch. */
  outcome: 'active' | 'done' | 'refused' | 'given up' | 'failed' | 'lost' | 'crashed';
}

/** What the end of an epoch may be called. A cancel is its owner's alone. */
const PLUGIN_CODES: readonly string[] = [
  'ERR_XFER_FAILED',
  'ERR_XFER_DEADLINE',
  'ERR_NCCLNET_EXIT',
  'ERR_NCCLNET_HUNG',
  'ERR_NCCLNET_CALL',
  'ERR_PEER_TIMEOUT',
  'ERR_PEER_UNREACHABLE',
  'ERR_PEER_REFUSED',
  'ERR_WIRE_LIMIT',
];

interface Place {
  readonly memory: SimMemory;
  readonly cell: number;
  readonly at: number;
}

function source(job: Job, block: JobBlock): Place {
  const { localCell, localAt, remoteCell, remoteAt } = block;
  return job.operation === 'write'
    ? { memory: job.own.memory, cell: localCell, at: localAt }
    : { memory: job.peer.memory, cell: remoteCell, at: remoteAt };
}

function target(job: Job, block: JobBlock): Place {
  const { localCell, localAt, remoteCell, remoteAt } = block;
  return job.operation === 'write'
    ? { memory: job.peer.memory, cell: remoteCell, at: remoteAt }
    : { memory: job.own.memory, cell: localCell, at: localAt };
}

function nameOf(job: Job): string {
  return `transfer ${job.id} (${job.operation} of ${job.own.name} at ${job.peer.name})`;
}

/** Every byte is where it belongs, and nothing else of the cells has changed. */
export function checkLanded(job: Job, when: string): void {
  for (const block of job.blocks) {
    const from = source(job, block);
    const to = target(job, block);
    from.memory.checkShadow(from.cell);
    const expected = Buffer.from(to.memory.shadow(to.cell));
    expected.set(from.memory.shadow(from.cell).subarray(from.at, from.at + block.bytes), to.at);
    const seen = to.memory.bytes(to.cell);
    if (expected.compare(seen) === 0) continue;
    const at = expected.findIndex((byte, index) => byte !== seen[index]);
    throw new Violation(`${nameOf(job)}: wrong byte ${at} of cell ${to.cell} ${when}`);
  }
}

/** It failed: what lies there is what was there before, or what was sent, byte by byte. */
export function checkPartial(job: Job): void {
  for (const block of job.blocks) {
    const from = source(job, block);
    const to = target(job, block);
    const seen = to.memory.bytes(to.cell);
    const old = to.memory.shadow(to.cell);
    const sent = from.memory.shadow(from.cell);
    for (let index = 0; index < seen.length; index++) {
      if (seen[index] === old[index]) continue;
      const at = index - to.at;
      if (at >= 0 && at < block.bytes && seen[index] === sent[from.at + at]) continue;
      throw new Violation(`${nameOf(job)}: byte ${index} of cell ${to.cell} is of nobody`);
    }
  }
}

/** How it ended, and whether it may have ended so. */
export function judgeOutcome(job: Job): Job['outcome'] {
  const { error } = job.transfer;
  const isEnding = job.session.isEnding();
  if (error === undefined) {
    if (job.refusals.length > 0) throw new Violation(`${nameOf(job)}: done, but it is not allowed`);
    const { bytes, bytesConfirmed } = job.transfer.receipt();
    if (job.operation !== 'notify' && bytes !== bytesConfirmed) {
      throw new Violation(`${nameOf(job)}: ${bytesConfirmed} of ${bytes} bytes in its receipt`);
    }
    return 'done';
  }
  const { code } = error;
  if (code === 'ERR_XFER_FAILED' && isEnding) return 'lost';
  const outcome = failureOf(job, code);
  if (outcome !== undefined) return isEnding ? 'lost' : outcome;
  throw new Violation(`${nameOf(job)}: failed with ${code}: ${error.message}`);
}

/** What a failure with this code is; undefined where it may not be. */
function failureOf(job: Job, code: string): Job['outcome'] | undefined {
  const hasDeadline = job.deadlineUs < Number.POSITIVE_INFINITY;
  if (code === 'ERR_XFER_CANCELLED' && job.isCancelled) return 'given up';
  if (code === 'ERR_XFER_DEADLINE' && hasDeadline) return 'given up';
  if (job.refusals.includes(code)) return 'refused';
  if (job.mayBeStale && code === 'ERR_PEER_STALE_REGION') return 'refused';
  const isPlugin = isMatched(job) && job.pair.isExcused && PLUGIN_CODES.includes(code);
  return isPlugin ? 'failed' : undefined;
}

/** A cancel is a fence: who is told of it may use the memory on both ends. */
export function checkCancel(job: Job): void {
  const { error, isReleased } = job.transfer;
  if (error?.code !== 'ERR_XFER_CANCELLED' || isReleased) return;
  throw new Violation(`${nameOf(job)}: cancelled, and its bytes may still land`);
}

/** A deadline is hard: whatever the peer does, its owner knows. */
export function checkDeadline(job: Job): void {
  const lateUs = job.own.node.clock.nowUs() - job.deadlineUs;
  if (lateUs <= 0 || job.transfer.status !== 'active') return;
  throw new Violation(`${nameOf(job)}: active ${lateUs} µs after its deadline`);
}

/** Its owner waited no longer, but every byte was on its way, and the notification behind them. */
export function isLate({ deadlineUs, transfer }: Job): boolean {
  const { bytes, bytesConfirmed } = transfer.receipt();
  return deadlineUs < Number.POSITIVE_INFINITY && bytes === bytesConfirmed;
}

/** It goes, or went, through the plugin. */
export function isMatched(job: Job): boolean {
  return factsOf(job.transfer).provider === 'tcpx';
}

/** A message of it has come to the peer's program. */
export function onNotified(job: Job): void {
  job.notified++;
  if (job.notified > 1) throw new Violation(`${nameOf(job)}: its notification came twice`);
  if (!job.hasNotification) throw new Violation(`${nameOf(job)}: it has no notification`);
  if (job.outcome === 'refused' || job.refusals.length > 0) {
    throw new Violation(`${nameOf(job)}: notified although it was refused`);
  }
  const isOver = job.outcome === 'failed' || job.outcome === 'given up';
  if (isOver && isMatched(job) && job.operation === 'write') {
    throw new Violation(`${nameOf(job)}: notified after it had failed`);
  }
}
