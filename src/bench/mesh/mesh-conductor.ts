// Rank 0's part of a mesh: waits for all processes, says who measures against whom, starts each
// round when all its pairs are warm, and gathers results. One failure ends all, with the cause;
// what was measured until then stays.

import { assert, at } from '../../base/assert.js';
import { sleepMs } from '../../base/clock.js';
import { TcpxError } from '../../base/errors.js';
import { plainText } from '../../base/foreign-text.js';
import type { BenchResult } from '../bench-result.js';
import type { MeshLink } from './mesh-link.js';
import {
  MESH_PROTOCOL,
  type MeshHello,
  type MeshMessage,
  type MeshWindow,
} from './mesh-message.js';
import {
  defaultPairs,
  type MeshPair,
  type MeshPairs,
  placeWorkers,
  planRounds,
  railOf,
} from './mesh-plan.js';
import { isLoopbackHost } from './node-list.js';

export interface MeshConductorOptions {
  readonly size: number;
  readonly version: string;
  /** What every process must have alike, by name. */
  readonly terms: Readonly<Record<string, string>>;
  /** How others reach the node of rank 0. */
  readonly firstHost: string;
  /** Of each rank, where a list of nodes names them. */
  readonly hosts: readonly string[] | undefined;
  /** Which pairs; by the number of nodes where it is not said. */
  readonly pairs: MeshPairs | undefined;
  readonly isAlone: boolean;
  /** For all processes to come, once rank 0 is ready. */
  readonly waitMs: number;
  onAssembled(workers: readonly MeshWorker[], rounds: number): void;
  onRound(round: number, runs: readonly MeshRun[]): void;
}

/** One GPU of one process, as the mesh knows it. */
export interface MeshWorker {
  readonly rank: number;
  /** Its place in that process. */
  readonly worker: number;
  /** Processes of one node have it alike. */
  readonly node: string;
  readonly hostname: string;
  /** Where others reach it. */
  readonly host: string;
  readonly port: number;
  readonly gpu: number;
  readonly nic: string;
}

export interface MeshRun extends MeshPair {
  readonly round: number;
  readonly window: MeshWindow;
  readonly result: BenchResult;
}

export interface MeshOutcome {
  readonly workers: readonly MeshWorker[];
  readonly rounds: number;
  /** Of the whole plan. */
  readonly pairs: number;
  readonly runs: readonly MeshRun[];
  /** What ended it early: runs are those until then. */
  readonly failure?: TcpxError;
}

interface Member {
  readonly hello: MeshHello;
  readonly link: MeshLink;
}

/** What is under way: pairs by `rank:worker` of who sends. */
interface Round {
  readonly index: number;
  readonly cold: Set<string>;
  readonly pairs: Map<string, MeshPair>;
  /** Pairs that had nothing when all were stopped. */
  failed: number;
  readonly finished: Promise<void>;
  readonly finish: () => void;
}

interface Failure {
  readonly error: TcpxError;
  readonly isCause: boolean;
}

/** Time for the cause to be told, where its consequences were heard first. */
const CAUSE_MS = 700;
/** For pairs to end their iterations, once all are to stop. */
const STOP_MS = 3000;

export class MeshConductor {
  readonly #options: MeshConductorOptions;
  readonly #members = new Map<number, Member>();
  #onComplete: () => void = () => undefined;
  #onFirst: () => void = () => undefined;
  #workers: MeshWorker[] = [];
  #round: Round | undefined;
  readonly #runs: MeshRun[] = [];
  /** Why all are to end what is under way; what fails then is a consequence. */
  #stop: TcpxError | undefined;
  #failures: Failure[] = [];
  #fail: (error: TcpxError) => void = () => undefined;
  readonly #failed: Promise<never>;
  #isOver = false;
  /** What ended it: told to those who come later too. */
  #end: TcpxError | undefined;

  constructor(options: MeshConductorOptions) {
    this.#options = options;
    this.#failed = new Promise<never>((_, reject) => {
      this.#fail = reject;
    });
    // Whoever runs the mesh awaits it; before that nobody may.
    this.#failed.catch(() => undefined);
  }

  /** A process has connected: its first word says which one it is. */
  admit(link: MeshLink): void {
    let rank: number | undefined;
    link.listen((message) => {
      if (rank !== undefined) this.#take(rank, message);
      else if (message.kind === 'hello') rank = this.#enter(link, message);
      else if (message.kind === 'failed') this.#record(toError(message, link.host), true);
      else link.close();
    });
    void link.ended.then((reason) => {
      // One that never said who it is may be anybody.
      if (rank === undefined || this.#isOver) return;
      const text = `${this.#nameOf(rank)} is gone: ${reason.message}`;
      this.#record(new TcpxError('ERR_PEER_LOST', text, { cause: reason }), true);
    });
  }

  async run(): Promise<MeshOutcome> {
    let rounds: MeshPair[][] = [];
    const outcome = () => {
      const pairs = rounds.flat().length;
      return { workers: this.#workers, rounds: rounds.length, pairs, runs: this.#runs };
    };
    try {
      await this.#assemble();
      rounds = this.#plan();
      this.#options.onAssembled(this.#workers, rounds.length);
      for (const [index, pairs] of rounds.entries()) {
        this.#options.onRound(index, await this.#measure(index, pairs));
      }
      this.#isOver = true;
      const ok = this.#runs.every(({ result }) => result.ok);
      await this.#tellAll({ kind: 'end', ok });
      return outcome();
    } catch (error) {
      this.#isOver = true;
      if (!(error instanceof TcpxError)) throw error;
      this.#end = error;
      const { code, message } = error;
      await this.#tellAll({ kind: 'failed', code, message, isCause: true });
      if (this.#runs.length === 0) throw error;
      return { ...outcome(), failure: error };
    }
  }

  // What is not yet known of a failure may come a moment later: a worker whose peer has died often
  // hears of it before the process that started the dead one.
  #record(error: TcpxError, isCause: boolean): void {
    if (this.#isOver || this.#stop !== undefined) return;
    this.#failures.push({ error, isCause });
    if (isCause) this.#fail(error);
    else if (this.#failures.length === 1) {
      void sleepMs(CAUSE_MS).then(() => this.#fail(error));
    }
  }

  #enter(link: MeshLink, hello: MeshHello): number | undefined {
    const fault = this.#end ?? this.#faultOf(hello, link);
    if (fault !== undefined) {
      const { code, message } = fault;
      void link.send({ kind: 'failed', code, message, isCause: true });
      this.#record(fault, true);
      return undefined;
    }
    this.#members.set(hello.rank, { hello, link });
    // Only now could the others be there: until then rank 0 itself was not ready.
    if (hello.rank === 0) this.#onFirst();
    if (this.#members.size === this.#options.size) this.#onComplete();
    return hello.rank;
  }

  #faultOf(hello: MeshHello, { host }: MeshLink): TcpxError | undefined {
    const { version, size, terms } = this.#options;
    const who = `rank ${hello.rank} (${plainText(host === '' ? hello.hostname : host)})`;
    const mismatch = (text: string) => new TcpxError('ERR_CONFIG_MISMATCH', `mesh: ${text}`);
    if (hello.protocol !== MESH_PROTOCOL || hello.version !== version) {
      const theirs = `version ${plainText(hello.version)}, protocol ${hello.protocol}`;
      const ours = `version ${version}, protocol ${MESH_PROTOCOL}`;
      return mismatch(`${who} runs ${theirs}, rank 0 ${ours}: install one version on every node`);
    }
    if (hello.size !== size || hello.rank >= size) {
      return mismatch(`${who} is of ${hello.size} processes, rank 0 of ${size}`);
    }
    const first = this.#members.get(hello.rank);
    if (first !== undefined) {
      const others = first.link.host === '' ? first.hello.hostname : first.link.host;
      return mismatch(`two processes are rank ${hello.rank}: at ${others} and at ${host}`);
    }
    const differing = Object.keys(terms).find((name) => hello.terms[name] !== terms[name]);
    if (differing === undefined) return undefined;
    const theirs = plainText(hello.terms[differing] ?? 'nothing');
    return mismatch(`${differing}: ${who} has ${theirs}, rank 0 ${terms[differing] ?? ''}`);
  }

  async #assemble(): Promise<void> {
    const { waitMs, size } = this.#options;
    const complete = new Promise<void>((resolve) => {
      this.#onComplete = resolve;
      if (this.#members.size === size) resolve();
    });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      this.#onFirst = () => {
        timer = setTimeout(() => reject(this.#missing(waitMs)), waitMs);
      };
      if (this.#members.has(0)) this.#onFirst();
    });
    try {
      await Promise.race([complete, late, this.#failed]);
    } finally {
      clearTimeout(timer);
    }
  }

  #missing(waitMs: number): TcpxError {
    const ranks = Array.from({ length: this.#options.size }, (_, rank) => rank);
    const absent = ranks.filter((rank) => !this.#members.has(rank));
    const names = absent.slice(0, NAMES_MAX).map((rank) => this.#nameOf(rank));
    const more = absent.length > NAMES_MAX ? ` and ${absent.length - NAMES_MAX} more` : '';
    return new TcpxError(
      'ERR_PEER_TIMEOUT',
      `mesh: ${absent.length} of ${ranks.length} processes did not come in ${waitMs} ms: ` +
        `${names.join(', ')}${more}; is each started, with this rank 0 at ` +
        `${this.#options.firstHost}? (--wait)`,
    );
  }

  #nameOf(rank: number): string {
    const host = this.#options.hosts?.[rank] ?? this.#members.get(rank)?.link.host;
    const name = host === '' ? this.#members.get(rank)?.hello.hostname : host;
    return name === undefined ? `rank ${rank}` : `rank ${rank} (${plainText(name)})`;
  }

  #plan(): MeshPair[][] {
    const members = Array.from({ length: this.#options.size }, (_, rank) => {
      const member = this.#members.get(rank);
      assert(member !== undefined, 'every rank has come');
      return member;
    });
    this.#workers = members.flatMap(({ hello, link }) =>
      hello.workers.map((facts, worker) => ({
        ...{ rank: hello.rank, worker, node: hello.node, hostname: hello.hostname },
        ...{ host: this.#hostOf(hello.rank, link), ...facts },
      })),
    );
    const places = placeWorkers(this.#workers.map(({ node }) => node));
    const pairs = this.#options.pairs ?? defaultPairs(places);
    const rounds = planRounds(places, pairs, this.#options.isAlone);
    if (rounds.length > 0) return rounds;
    const nodes = new Set(this.#workers.map(({ node }) => node)).size;
    throw new TcpxError(
      'ERR_USAGE_ARGUMENT',
      `mesh: no pairs: ${this.#workers.length} workers on ${nodes} nodes, --pairs ${pairs}`,
    );
  }

  /** A process on rank 0's own node comes by an address that means nothing elsewhere. */
  #hostOf(rank: number, { host }: MeshLink): string {
    const listed = this.#options.hosts?.[rank];
    if (listed !== undefined) return listed;
    return host === '' || isLoopbackHost(host) ? this.#options.firstHost : host;
  }

  async #measure(index: number, pairs: readonly MeshPair[]): Promise<MeshRun[]> {
    let finish: () => void = () => undefined;
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const byWorker = new Map(pairs.map((pair) => [keyOf(at(this.#workers, pair.from)), pair]));
    const cold = new Set(byWorker.keys());
    const round: Round = { index, cold, pairs: byWorker, failed: 0, finished, finish };
    this.#round = round;
    for (const [rank, { link }] of this.#members) {
      const own = pairs.filter(({ from }) => at(this.#workers, from).rank === rank);
      if (own.length === 0) continue;
      const orders = own.map(({ from, to }) => {
        const [sender, receiver] = [at(this.#workers, from), at(this.#workers, to)];
        const { nic, gpu: railGpu } = railOf(this.#workers, sender, receiver);
        const { host, port } = receiver;
        return { worker: sender.worker, host, port, nic, railGpu };
      });
      void link.send({ kind: 'round', round: index, orders });
    }
    await Promise.race([finished, this.#failed]);
    if (this.#stop !== undefined) throw this.#stop;
    return this.#runs.filter((run) => run.round === index).sort((a, b) => a.from - b.from);
  }

  #take(rank: number, message: MeshMessage): void {
    if (this.#isOver) return;
    switch (message.kind) {
      case 'warm':
        this.#onWarm(rank, message);
        return;
      case 'result':
        this.#onResult(rank, message);
        return;
      case 'failed':
        this.#record(toError(message, this.#nameOf(rank)), message.isCause);
        this.#countFailed();
        return;
      case 'stop':
        this.#onStop(`${this.#nameOf(rank)}: ${plainText(message.message)}`);
        return;
      case 'hello':
      case 'round':
      case 'go':
      case 'end': {
        const text = `${this.#nameOf(rank)}: ${message.kind} is not for rank 0`;
        this.#record(new TcpxError('ERR_WIRE_STATE', text), true);
      }
    }
  }

  /** Once is enough: a terminal and a launcher tell every process. */
  #onStop(message: string): void {
    const reason = new TcpxError('ERR_XFER_CANCELLED', message);
    if (this.#round === undefined) this.#record(reason, true);
    else if (this.#stop === undefined) {
      this.#stop = reason;
      void this.#tellAll({ kind: 'stop', message });
      void Promise.race([this.#round.finished, sleepMs(STOP_MS)]).then(() => this.#fail(reason));
    }
  }

  #onWarm(rank: number, message: Extract<MeshMessage, { kind: 'warm' }>): void {
    const round = this.#roundOf(rank, message);
    if (round?.cold.delete(keyOf({ rank, worker: message.worker })) !== true) return;
    if (round.cold.size === 0) void this.#tellAll({ kind: 'go', round: round.index });
  }

  #onResult(rank: number, message: Extract<MeshMessage, { kind: 'result' }>): void {
    const round = this.#roundOf(rank, message);
    const key = keyOf({ rank, worker: message.worker });
    const pair = round?.pairs.get(key);
    if (round === undefined || pair === undefined) return;
    round.pairs.delete(key);
    const { window, result } = message;
    this.#runs.push({ ...pair, round: round.index, window, result });
    finishIfOver(round);
  }

  #countFailed(): void {
    if (this.#round === undefined || this.#stop === undefined) return;
    this.#round.failed++;
    finishIfOver(this.#round);
  }

  #roundOf(rank: number, { round, kind }: { round: number; kind: string }): Round | undefined {
    if (this.#round?.index === round) return this.#round;
    const text = `${this.#nameOf(rank)}: ${kind} of round ${round}, now is another`;
    this.#record(new TcpxError('ERR_WIRE_STATE', text), true);
    return undefined;
  }

  async #tellAll(message: MeshMessage): Promise<void> {
    await Promise.all([...this.#members.values()].map(({ link }) => link.send(message)));
  }
}

const NAMES_MAX = 8;

function finishIfOver({ pairs, failed, finish }: Round): void {
  if (pairs.size <= failed) finish();
}

function keyOf({ rank, worker }: { readonly rank: number; readonly worker: number }): string {
  return `${rank}:${worker}`;
}

function toError({ code, message }: Extract<MeshMessage, { kind: 'failed' }>, who: string) {
  return new TcpxError(code, `${who}: ${plainText(message)}`);
}
