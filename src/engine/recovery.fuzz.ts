// Recovery of a session against any order of events and any word of the peer: lanes are told only
// what they can do, each lost connection is settled once, and whatever breaks a rule ends it.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { fuzzTarget } from '../../test/support/fuzz-target.js';
import { mutatedBytes } from '../../test/support/mutated-bytes.js';
import { TcpxError } from '../base/errors.js';
import { silentLog } from '../base/log.js';
import { Timers } from '../base/timers.js';
import {
  COMMAND_DROP_CHANNEL,
  COMMAND_SETTLE_CHANNEL,
  LOSS_SYSTEM,
} from '../provider/tcp/lane/messages.js';
import { encodeControlLost, encodeFence } from '../wire/fence-signal.js';
import { Recovery } from './recovery.js';
import type { RedialOutcome } from './recovery-host.js';

const CHANNELS = 3;
/** Behind those that it begins with, one that may come late. */
const PLAN = { count: CHANNELS + 1, needed: CHANNELS, own: CHANNELS, peers: -1 };
const FENCES_MAX = 128;
const TIMES = { stallMs: 200, reconnectMs: 5000, progressMs: 3000, minRate: 65_536 };
const LIMITS = { ...TIMES, fencesMax: FENCES_MAX };
const OUTCOMES: readonly RedialOutcome[] = ['attached', 'attached', 'failed', 'refused', 'unknown'];

/** The lanes and the peer of one session, as far as recovery can tell. */
class Model {
  readonly timers = new Timers();
  readonly recovery: Recovery;
  /** Connections that lanes have, and those they have closed and keep the flight of. */
  readonly up = new Map<number, number>();
  readonly parked = new Set<string>();
  nowUs = 1e9;
  lost: TcpxError | undefined;
  #draws = 0;
  readonly #seed: number;

  constructor(isClient: boolean, seed: number) {
    this.#seed = seed;
    const lanes = Array.from({ length: PLAN.count }, (_, channel) => channel % 2);
    const host = {
      log: silentLog,
      timers: this.timers,
      peer: 'peer',
      nowUs: () => this.nowUs,
      command: (_: number, kind: number, words: readonly number[]) => this.#command(kind, words),
      postSignal: () => undefined,
      onChannelsChanged: () => undefined,
      lose: (error: TcpxError) => this.#lose(error),
      redial: isClient
        ? (channel: number, epoch: number) => this.#redial(channel, epoch)
        : undefined,
      tellChannel: () => undefined,
      tellFailover: () => undefined,
      hasInFlight: () => false,
      askRedial: (channel: number, epoch: number) => {
        const has = Math.max(0, this.recovery.book.epoch(channel));
        assert.ok(!isClient && epoch === has, 'asks for what it has, or for the first');
      },
      onControlLost: () => undefined,
    };
    this.recovery = new Recovery(host, 0, lanes, PLAN, LIMITS);
    for (let channel = 0; channel < CHANNELS; channel++) this.attach(channel, 0);
  }

  #lose(error: TcpxError): void {
    this.lost ??= error;
    this.recovery.stop();
  }

  attach(channel: number, epoch: number): void {
    if (this.up.has(channel)) return;
    this.up.set(channel, epoch);
    this.recovery.onAttached(channel, epoch);
  }

  #command(kind: number, [, channel = -1, epoch = -1]: readonly number[]): void {
    assert.equal(this.lost, undefined, 'nothing is told after the end');
    if (kind === COMMAND_SETTLE_CHANNEL) {
      assert.ok(this.parked.delete(`${channel}.${epoch}`), `${channel}.${epoch} settled once`);
      return;
    }
    assert.equal(kind, COMMAND_DROP_CHANNEL);
    assert.equal(this.recovery.book.epoch(channel), epoch);
    this.timers.at(this.nowUs, () => this.goDown(channel));
  }

  goDown(channel: number): void {
    const epoch = this.up.get(channel);
    if (epoch === undefined || this.lost !== undefined) return;
    this.up.delete(channel);
    this.parked.add(`${channel}.${epoch}`);
    const error = new TcpxError('ERR_PEER_LOST', 'gone');
    this.recovery.onDown(
      { channel, epoch, landed: 0, isDamaged: false, refusals: [] },
      { loss: LOSS_SYSTEM, error },
    );
  }

  async #redial(channel: number, epoch: number): Promise<RedialOutcome> {
    const outcome = OUTCOMES[(this.#seed + this.#draws++) % OUTCOMES.length] ?? 'failed';
    if (outcome !== 'attached') return outcome;
    await this.recovery.clear(channel);
    if (this.lost !== undefined) return 'failed';
    assert.ok(!this.up.has(channel), 'one connection of an index at a time');
    this.attach(channel, epoch);
    return outcome;
  }

  async pass(ms: number): Promise<void> {
    this.nowUs += ms * 1000;
    this.timers.run(this.nowUs);
    for (let turn = 0; turn < 8; turn++) await Promise.resolve();
    assert.ok(this.recovery.book.unanswered <= FENCES_MAX + 1);
  }
}

type Step = (model: Model) => void;

const channelOf = fc.nat(PLAN.count);
const epochOf = fc.nat(4);
const place = fc.tuple(channelOf, epochOf);
const signals = [
  encodeFence({ channel: 1, epoch: 0, landed: 3, isDamaged: false, refusals: [] }),
  encodeControlLost({ controlEpoch: 1 }),
];

const steps: fc.Arbitrary<Step> = fc.oneof(
  place.map(([channel, epoch]): Step => {
    const fence = encodeFence({ channel, epoch, landed: 0, isDamaged: false, refusals: [] });
    return ({ recovery }) => recovery.onSignal(fence);
  }),
  mutatedBytes(signals).map(
    (bytes): Step =>
      ({ recovery }) =>
        recovery.onSignal(bytes),
  ),
  place.map(
    ([channel, epoch]): Step =>
      ({ recovery }) =>
        recovery.onRedialAsked(channel, epoch),
  ),
  channelOf.map(
    (channel): Step =>
      (model) =>
        model.goDown(channel),
  ),
  channelOf.map(
    (channel): Step =>
      ({ recovery }) => {
        if (channel < PLAN.count) recovery.want(channel);
      },
  ),
  fc.tuple(channelOf, epochOf, fc.boolean()).map(([channel, epoch, isStalled]): Step => {
    return ({ recovery }) => {
      if (channel < PLAN.count) recovery.onStalled(channel, epoch, isStalled);
    };
  }),
  channelOf.map(
    (channel): Step =>
      (model) => {
        const { book } = model.recovery;
        if (channel < PLAN.count && model.lost === undefined) {
          model.attach(channel, book.epoch(channel) + 1);
        }
      },
  ),
);

const script = fc.record({
  isClient: fc.boolean(),
  seed: fc.nat(100),
  steps: fc.array(fc.tuple(steps, fc.constantFrom(0, 1, 150, 2500)), { maxLength: 40 }),
});

export const FUZZ_TARGETS = [
  fuzzTarget(
    'recovery: settles each connection once, or ends with a typed error, whatever comes',
    { runs: 400 },
    script,
    async ({ isClient, seed, steps: list }) => {
      const model = new Model(isClient, seed);
      for (const [step, ms] of list) {
        step(model);
        await model.pass(ms);
      }
      // Nothing moves any more: it ends by itself, and by name.
      for (const channel of [...model.up.keys()]) model.goDown(channel);
      for (let wait = 0; wait < 40 && model.lost === undefined; wait++) await model.pass(500);
      if (!isClient) assert.ok(model.lost !== undefined, 'a server without channels ends');
      assert.ok(model.lost === undefined || /^ERR_(PEER|WIRE)_/.test(model.lost.code));
    },
  ),
];
