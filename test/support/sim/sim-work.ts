// The simulated programs: they post transfers of every kind, cancel some, look at the outcome, and
// use their buffers again at once.

import { isTcpxError } from '../../../src/base/errors.js';
import type { Random } from '../../../src/base/random.js';
import type { LiveSession as Session } from '../../../src/engine/live-session.js';
import type { PeerNotification } from '../../../src/engine/notification.js';
import type { PostOptions, TransferRequest } from '../../../src/engine/session.js';
import type { Transfer } from '../../../src/engine/transfer.js';
import type { Region } from '../../../src/memory/region.js';
import type { Block } from '../../../src/provider/block-columns.js';
import { type BadRemote, badRemote } from './bad-remote.js';
import {
  checkCancel,
  checkDeadline,
  checkLanded,
  checkPartial,
  isLate,
  isMatched,
  type Job,
  type JobBlock,
  judgeOutcome,
  type Machine,
  onNotified,
} from './sim-job.js';
import { CELL_BYTES } from './sim-memory.js';
import type { SessionPair } from './sim-session.js';
import { Violation } from './violation.js';

export interface WorkRules {
  readonly cellsMax: number;
  readonly notifyBytesMax: number;
  readonly badChance: number;
  readonly cancelChance: number;
  readonly deadlineChance: number;
  /** How often a request that is done is posted again. */
  readonly againChance: number;
  /** Bytes are damaged on their way: what failed may have left some of them. */
  readonly hasDamage: boolean;
}

export interface Place {
  readonly own: Machine;
  readonly peer: Machine;
  readonly pair: SessionPair;
  readonly session: Session;
}

type JobCells = Pick<Job, 'own' | 'peer' | 'locals' | 'remotes'>;

/** Cells that a lost peer may still write into, until its end of the session is closed. */
interface Quarantine {
  readonly job: Job;
  readonly machine: Machine;
  readonly session: Session;
}

export class SimWork {
  readonly jobs: Job[] = [];
  readonly active = new Set<Job>();
  /** Done, but their notification has not come: their cells stay as they are until then. */
  readonly #held = new Set<Job>();
  readonly #quarantines: Quarantine[] = [];
  readonly #random: Random;
  readonly #rules: WorkRules;
  readonly #nowUs: () => number;

  constructor(random: Random, rules: WorkRules, nowUs: () => number) {
    this.#random = random;
    this.#rules = rules;
    this.#nowUs = nowUs;
  }

  /** Posts something; false when nothing could be posted now. */
  post(place: Place): boolean {
    if (this.#random.nextChance(0.15)) {
      const job = { locals: [], remotes: [], blocks: [], refusals: [], request: undefined };
      return this.#start(place, 'notify', job, (_, message) => place.session.notify(message));
    }
    const count = this.#random.nextBetween(1, this.#rules.cellsMax);
    const locals = place.own.memory.lend(count);
    const remotes = locals === undefined ? undefined : place.peer.memory.lend(count);
    if (locals === undefined || remotes === undefined) {
      if (locals !== undefined) place.own.memory.giveBack(locals);
      return false;
    }
    const operation = this.#random.nextChance(0.6) ? 'write' : 'read';
    const blocks = locals.map((cell, index) => this.#block(cell, remotes[index] ?? 0));
    const bad = this.#random.nextChance(this.#rules.badChance)
      ? badRemote(this.#random, place.peer)
      : undefined;
    const badIndex = this.#random.nextBetween(0, count - 1);
    const wire = blocks.map((block, index) =>
      wireBlock(place, block, index === badIndex ? bad : undefined),
    );
    const request = this.#prepare(place.session, operation, wire);
    if (request === undefined) {
      place.own.memory.giveBack(locals);
      place.peer.memory.giveBack(remotes);
      return false;
    }
    const job = { locals, remotes, blocks, refusals: bad?.codes ?? [], request };
    return this.#start(place, operation, job, (options) => request.post(options));
  }

  #prepare(
    session: Session,
    operation: 'write' | 'read',
    blocks: readonly Block[],
  ): TransferRequest | undefined {
    try {
      return session.prepare(operation, blocks);
    } catch (error) {
      if (isTcpxError(error) && error.code === 'ERR_USAGE_STATE') return undefined;
      throw error;
    }
  }

  // Whole cells often lie side by side and are merged; others start and end anywhere.
  #block(localCell: number, remoteCell: number): JobBlock {
    if (this.#random.nextChance(0.4)) {
      return { localCell, remoteCell, localAt: 0, remoteAt: 0, bytes: CELL_BYTES };
    }
    const bytes = this.#random.nextBetween(1, CELL_BYTES - 64);
    const localAt = this.#random.nextBetween(0, CELL_BYTES - bytes);
    const remoteAt = this.#random.nextBetween(0, CELL_BYTES - bytes);
    return { localCell, remoteCell, localAt, remoteAt, bytes };
  }

  #start(
    place: Place,
    operation: Job['operation'],
    parts: Pick<Job, 'locals' | 'remotes' | 'blocks' | 'refusals' | 'request'>,
    post: (options: PostOptions, message: Uint8Array) => Transfer,
  ): boolean {
    const id = this.jobs.length;
    const hasNotification = operation === 'notify' || this.#random.nextChance(0.5);
    const hasDeadline =
      operation !== 'notify' && this.#random.nextChance(this.#rules.deadlineChance);
    const message = this.#message(id);
    const deadlineMs = hasDeadline ? this.#random.nextBetween(0, 1500) : undefined;
    const options = {
      ...(hasNotification ? { notify: message } : {}),
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
    };
    const { clock } = place.own.node;
    const pausedMs = place.own.node.pausedMsBefore(this.#nowUs());
    const deadlineUs = clock.nowUs() + (deadlineMs ?? Number.POSITIVE_INFINITY) * 1000;
    let transfer: Transfer;
    try {
      transfer = post(options, message);
    } catch (error) {
      if (!isTcpxError(error) || error.code !== 'ERR_USAGE_STATE') throw error;
      parts.request?.release();
      place.own.memory.giveBack(parts.locals);
      place.peer.memory.giveBack(parts.remotes);
      return false;
    }
    const job: Job = {
      ...place,
      ...parts,
      id,
      operation,
      transfer,
      hasNotification,
      deadlineUs,
      pausedMs,
      regions: regionsOf({ ...place, ...parts }).filter((region) => region !== undefined),
      postedUs: this.#nowUs(),
      notified: 0,
      isCancelled: false,
      mayBeStale: parts.refusals.length > 0 && place.peer.memory.closing.size > 0,
      outcome: 'active',
    };
    if (hasDeadline && isMatched(job)) place.pair.isExcused = true;
    this.jobs.push(job);
    this.active.add(job);
    return true;
  }

  #message(id: number): Uint8Array {
    const bytes = this.#random.nextChance(0.8) ? 24 : this.#rules.notifyBytesMax;
    const message = new Uint8Array(4 + this.#random.nextBetween(0, bytes)).fill(id & 255, 4);
    new DataView(message.buffer).setUint32(0, id, true);
    return message;
  }

  /** A notification has come to the program on this machine. */
  onNotification(at: Machine, { bytes, session }: PeerNotification): void {
    const id = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
    const job = this.jobs[id];
    if (job?.peer !== at) throw new Violation(`${at.name}: a notification of nobody (${id})`);
    if (bytes.subarray(4).some((byte) => byte !== (id & 255))) {
      throw new Violation(`transfer ${id}: the bytes of its notification are wrong`);
    }
    if (session !== job.pair.atClient.face && session !== job.pair.atServer.face) {
      throw new Violation(`transfer ${id}: its notification came on another session`);
    }
    onNotified(job);
    if (job.outcome !== 'active' && !this.#held.has(job)) return;
    if (job.operation !== 'notify') checkLanded(job, 'when its notification came');
    if (!this.#held.delete(job)) return;
    this.#giveBack(job);
  }

  /** Looks at what has ended on this machine; returns how much. */
  settle(at: Machine): number {
    let count = 0;
    for (const job of this.active) {
      if (job.own !== at) continue;
      checkDeadline(job);
      checkCancel(job);
      // Its owner may know already that it has failed: its memory is free only now.
      if (!job.transfer.isReleased) continue;
      this.active.delete(job);
      this.#onEnded(job);
      count++;
    }
    return count;
  }

  #onEnded(job: Job): void {
    job.outcome = judgeOutcome(job);
    if (job.outcome === 'done' && this.#postAgain(job)) return;
    job.request?.release();
    if (job.notified > 0 && job.outcome === 'refused') onNotified(job);
    if (job.outcome === 'done') this.#onDone(job);
    else this.#onFailed(job);
  }

  #onDone(job: Job): void {
    checkLanded(job, 'when it was done');
    const isLate = job.hasNotification && job.notified === 0 && job.peer.node.isAlive;
    if (isLate && this.#random.nextChance(0.5)) this.#held.add(job);
    else this.#giveBack(job);
  }

  #onFailed(job: Job): void {
    if (job.outcome === 'lost' && job.operation === 'write') {
      this.#quarantine(job);
      return;
    }
    if (!this.#rules.hasDamage) checkPartial(job);
    this.#giveBack(job);
  }

  // As programs do that prepare once and post often: the same cells, with other contents.
  #postAgain(job: Job): boolean {
    const { request, own, peer, session, refusals, locals, remotes } = job;
    const { againChance } = this.#rules;
    if (request === undefined || againChance === 0) return false;
    if (!this.#random.nextChance(againChance)) return false;
    checkLanded(job, 'when it was done');
    const isSettled = !job.hasNotification || job.notified > 0;
    const isOpen = session.isReady && peer.node.isAlive;
    const isSame = regionsOf(job).every(
      (region, index) => region !== undefined && region === job.regions[index],
    );
    if (!isSettled || !isOpen || !isSame || refusals.length > 0) return false;
    for (const cell of locals) own.memory.refill(cell);
    for (const cell of remotes) peer.memory.refill(cell);
    // One that cannot be posted now has given everything back.
    this.#start(job, job.operation, job, (options) => request.post(options));
    return true;
  }

  // A lost session is no fence: what was on its way may land until the peer has closed its end.
  #quarantine(job: Job): void {
    const isClient = job.session === job.pair.atClient;
    const session = isClient ? job.pair.atServer : job.pair.atClient;
    this.#quarantines.push({ job, machine: job.peer, session });
  }

  /** Takes back what nobody can write into any more. */
  releaseQuarantines(): void {
    for (const entry of [...this.#quarantines]) {
      if (entry.machine.node.isAlive && !isClosed(entry)) continue;
      this.#quarantines.splice(this.#quarantines.indexOf(entry), 1);
      const isWhole = entry.machine.node.isAlive && entry.job.own.node.isAlive;
      if (isWhole && !this.#rules.hasDamage) checkPartial(entry.job);
      this.#giveBack(entry.job);
    }
  }

  #giveBack(job: Job): void {
    job.own.memory.giveBack(job.locals);
    job.peer.memory.giveBack(job.remotes);
  }

  /** A machine has stopped: its transfers are nobody's, its peers may still receive from it. */
  onCrash(machine: Machine): void {
    for (const job of this.active) {
      if (job.own !== machine) continue;
      this.active.delete(job);
      job.outcome = 'crashed';
      this.#quarantine(job);
    }
    for (const job of this.#held) {
      if (job.peer !== machine && job.own !== machine) continue;
      this.#held.delete(job);
      this.#giveBack(job);
    }
  }

  /** A region is deregistered under whoever uses it. */
  onClosing(machine: Machine, regionIndex: number): void {
    for (const job of this.active) {
      if (job.peer !== machine) continue;
      const isHit = job.remotes.some((cell) => machine.memory.regionIndex(cell) === regionIndex);
      // A forged descriptor names the first region.
      if (isHit || (job.refusals.length > 0 && regionIndex === 0)) job.mayBeStale = true;
    }
  }

  cancelSome(): void {
    for (const job of this.active) {
      if (job.isCancelled || !this.#random.nextChance(this.#rules.cancelChance)) continue;
      job.isCancelled = true;
      // What was handed to a plugin takes its epoch with it.
      if (isMatched(job)) job.pair.isExcused = true;
      job.transfer.cancel();
    }
  }

  /** Everything has ended: nothing may be missing. */
  checkEnd(): void {
    this.releaseQuarantines();
    for (const job of this.active) throw new Violation(`transfer ${job.id} never ended`);
    if (this.#quarantines.length > 0) throw new Violation('a session has not closed at both ends');
    for (const job of this.jobs) {
      const isDue = job.outcome === 'done' && job.hasNotification && job.peer.node.isAlive;
      if (isDue && job.notified === 0) {
        throw new Violation(`transfer ${job.id}: its notification never came`);
      }
      if (job.outcome === 'given up' && job.notified > 0 && !isMatched(job) && !isLate(job)) {
        throw new Violation(`transfer ${job.id}: given up, but its notification came`);
      }
    }
  }
}

/** Those that are open. */
function regionsOf({ own, peer, locals, remotes }: JobCells): (Region | undefined)[] {
  return [
    ...locals.map((cell) => own.memory.openRegion(cell)),
    ...remotes.map((cell) => peer.memory.openRegion(cell)),
  ];
}

function isClosed({ session }: Quarantine): boolean {
  return session.state === 'closed';
}

function wireBlock(place: Place, block: JobBlock, bad: BadRemote | undefined): Block {
  const { own, peer } = place;
  const remoteOffset =
    bad === undefined
      ? peer.memory.offset(block.remoteCell) + block.remoteAt
      : (bad.offset ?? Math.min(block.remoteAt, CELL_BYTES - block.bytes));
  return {
    local: own.memory.region(block.localCell),
    localOffset: own.memory.offset(block.localCell) + block.localAt,
    remote: bad?.remote ?? peer.memory.region(block.remoteCell).descriptor,
    remoteOffset,
    bytes: block.bytes,
  };
}
