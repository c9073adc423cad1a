// Sessions of a run: who connects to whom, which two ends belong together, whether they agree, and
// whether every attempt comes to an end. The handshake itself is the product's.

import { isTcpxError } from '../../../src/base/errors.js';
import type { LiveSession as Session } from '../../../src/engine/live-session.js';
import { SimControl } from './sim-control.js';
import type { Machine } from './sim-job.js';
import type { SimNetwork } from './sim-network.js';
import { hostOf, placeOf } from './sim-peer-network.js';
import type { SimTime } from './sim-time.js';
import { Violation } from './violation.js';

/**
 * Of an attempt: for dialling, two steps of the greeting, and a connection and a step for each of
 * four channels; and as much again for the pauses that a run may have meanwhile.
 */
const ATTEMPT_US = 2 * 26_000_000;

/** Both ends of one session. The server's exists only at the machine that made it. */
export interface SessionPair {
  readonly id: number;
  readonly client: Machine;
  readonly server: Machine;
  readonly atClient: Session;
  readonly atServer: Session;
  /** Something has happened after which transfers through plugins may fail. */
  isExcused: boolean;
}

interface Attempt {
  readonly client: Machine;
  readonly server: string;
  readonly sinceUs: number;
  readonly isAmidFaults: boolean;
}

export interface MakerOptions {
  readonly time: SimTime;
  readonly network: SimNetwork;
  onPair(pair: SessionPair, isAmidFaults: boolean): void;
  /** An attempt has ended without a session. */
  onRefused(client: string, server: string, reason: string): void;
}

export class SessionMaker {
  readonly #options: MakerOptions;
  readonly #attempts = new Set<Attempt>();
  /** By the name of the server and the number of the session. */
  readonly #served = new Map<string, { readonly machine: Machine; readonly session: Session }>();
  /** What something threw although it should not. */
  failure: Error | undefined;

  constructor(options: MakerOptions) {
    this.#options = options;
  }

  /** A session is on its way between the two, or is being given up. */
  isTrying(client: string, server: string): boolean {
    return this.attempts.some((one) => one.client.name === client && one.server === server);
  }

  /** Those whose client lives: a process that has crashed waits for nothing. */
  get attempts(): Attempt[] {
    return [...this.#attempts].filter(({ client }) => client.node.isAlive);
  }

  connect(client: Machine, server: string, isAmidFaults: boolean): void {
    const { time } = this.#options;
    const attempt = { client, server, sinceUs: time.nowUs, isAmidFaults };
    this.#attempts.add(attempt);
    client.node
      .connect(hostOf(server, 0))
      .catch((error: unknown) => this.#onFailed(attempt, error))
      .finally(() => this.#attempts.delete(attempt));
  }

  #onFailed({ client, server }: Attempt, error: unknown): void {
    if (!isTcpxError(error)) this.fail(error);
    else this.#options.onRefused(client.name, server, `${error.code}: ${error.message}`);
  }

  fail(error: unknown): void {
    this.failure ??= error instanceof Error ? error : new Error('not an error was thrown');
  }

  /** A session was made at one end. */
  onCreated(machine: Machine, session: Session): void {
    const { id, role, where } = session.facts;
    if (role === 'server') {
      this.#served.set(`${machine.name} ${id}`, { machine, session });
      return;
    }
    const server = placeOf(where).machine;
    const served = this.#served.get(`${server} ${id}`);
    const attempt = this.attempts.find((one) => one.client === machine && one.server === server);
    if (served === undefined || attempt === undefined) {
      this.fail(new Violation(`${machine.name} has session ${id}, which ${server} has not made`));
      return;
    }
    this.#checkEnds(machine, session, served.machine, served.session);
    const pair = {
      id,
      client: machine,
      server: served.machine,
      atClient: session,
      atServer: served.session,
      isExcused: attempt.isAmidFaults,
    };
    this.#options.onPair(pair, attempt.isAmidFaults);
  }

  // Everything that was agreed, offered or said.
  #checkEnds(client: Machine, atClient: Session, server: Machine, atServer: Session): void {
    const one = atClient.facts;
    const other = atServer.facts;
    const claims: [string, boolean][] = [
      ['keys', Buffer.compare(one.key.reveal(), other.key.reveal()) === 0],
      ['settings', JSON.stringify(one.agreement) === JSON.stringify(other.agreement)],
      ['providers', one.provider === other.provider],
      ['reasons', one.providerReason === other.providerReason],
      ['paths', one.path === other.path],
      ['names', one.peerName === server.name && other.peerName === client.name],
      ['instances', one.peerInstance === instanceOf(server)],
      ['instances', other.peerInstance === instanceOf(client)],
      ['words: some were changed on their way', !controlOf(atClient).port.connection.isChanged],
    ];
    for (const [what, isSame] of claims) {
      if (!isSame) this.fail(new Violation(`both ends of session ${one.id} differ in ${what}`));
    }
  }

  /** Every attempt settles, whatever happens to it. */
  checkAges(): void {
    const { nowUs } = this.#options.time;
    for (const { client, server, sinceUs } of this.attempts) {
      if (nowUs - sinceUs < ATTEMPT_US) continue;
      const ageMs = (nowUs - sinceUs) / 1000;
      throw new Violation(`${client.name} has tried to reach ${server} for ${ageMs} ms`);
    }
  }
}

function instanceOf({ node }: Machine): string {
  return Buffer.from(node.identity.generation).toString('hex');
}

/** The control connection that a session has at the moment. */
export function controlOf(session: Session): SimControl {
  const { control } = session;
  if (control instanceof SimControl) return control;
  throw new Error('not a simulated connection');
}
