// Somebody who listens in, plays again what was said, or says nearly the same, without the secret.
// No server may take it.

import { isTcpxError } from '../../../src/base/errors.js';
import type { Random } from '../../../src/base/random.js';
import { Transcript } from '../../../src/engine/transcript.js';
import { attachProof } from '../../../src/engine/trust.js';
import {
  CONTROL_HEAD_BYTES,
  ControlKind,
  type ControlMessage,
  decodeControlBody,
  decodeControlHead,
  encodeControl,
} from '../../../src/wire/control-frame.js';
import { type ControlRules, SimControl } from './sim-control.js';
import type { SimNetwork } from './sim-network.js';
import { hostOf, placeOf } from './sim-peer-network.js';
import { pick } from './sim-plan.js';
import { Violation } from './violation.js';

/** A machine that is none of the run's. */
const STRANGER = 'm90';
const DIAL_US = 1_000_000;
/** Of what was heard, the last of it. */
const RECORDED_MAX = 64;

interface Recorded {
  readonly server: string;
  readonly path: number;
  readonly answer: ControlKind;
  readonly frames: readonly Uint8Array[];
}

interface Script {
  readonly name: string;
  /** What is said first, and what behind CHALLENGE. */
  readonly opening: Uint8Array;
  answer?(challenge: ControlMessage): Uint8Array;
}

export class Strangers {
  readonly #network: SimNetwork;
  readonly #random: Random;
  readonly #recorded: Recorded[] = [];
  readonly #controls = new Set<SimControl>();
  readonly #fail: (error: unknown) => void;

  constructor(network: SimNetwork, random: Random, fail: (error: unknown) => void) {
    this.#network = network;
    this.#random = random;
    this.#fail = fail;
  }

  /** What was said on a connection has got its answer: now it may be played again. */
  record(control: SimControl, frames: readonly Uint8Array[], answer: ControlMessage): void {
    const { machine: server, path } = placeOf(control.peerHost);
    this.#recorded.push({ server, path, answer: answer.kind, frames: [...frames] });
    if (this.#recorded.length > RECORDED_MAX) this.#recorded.shift();
  }

  /** Tries something; the name of it, or nothing where nothing was heard yet. */
  play(): string | undefined {
    if (this.#recorded.length === 0) return undefined;
    const recorded = pick(this.#random, this.#recorded);
    const script = this.#scriptOf(recorded);
    this.#network.dial(STRANGER, recorded.server, recorded.path, DIAL_US, (dialled) => {
      if (typeof dialled === 'object') this.#speak(dialled.port, recorded, script);
    });
    return script.name;
  }

  #speak(port: SimControl['port'], recorded: Recorded, script: Script): void {
    const ends = {
      peerHost: hostOf(recorded.server, recorded.path),
      localHost: hostOf(STRANGER, recorded.path),
    };
    const control = new SimControl(port, ends, NOBODY, {
      at: () => () => undefined,
      onWake: () => undefined,
      onReleased: () => undefined,
    });
    this.#controls.add(control);
    const onMessage = (message: ControlMessage): void => {
      if (message.kind === ControlKind.Challenge && script.answer !== undefined) {
        this.#say(control, script.answer(message));
        return;
      }
      if (message.kind !== ControlKind.Refuse) {
        this.#fail(new Violation(`${script.name} was taken`));
      }
      control.close();
    };
    control.handOver(onMessage, () => control.close(), Number.POSITIVE_INFINITY);
    this.#say(control, script.opening);
  }

  // One that was thrown out meanwhile has been refused.
  #say(control: SimControl, bytes: Uint8Array): void {
    try {
      control.sendBytes(bytes);
    } catch (error) {
      if (!isTcpxError(error)) this.#fail(error);
    }
  }

  #scriptOf({ frames, answer }: Recorded): Script {
    const [opening, second] = frames;
    if (opening === undefined) throw new Error('nothing was recorded');
    if (answer === ControlKind.Attached) return this.#attachScript(opening);
    if (second === undefined) throw new Error('a greeting has two frames');
    if (this.#random.nextChance(0.5)) {
      return { name: 'a recorded PROPOSE', opening, answer: () => second };
    }
    const secret = this.#bytes(16);
    return {
      name: 'a PROPOSE without the secret',
      opening,
      answer: (challenge) => forgedPropose(secret, opening, challenge, second),
    };
  }

  #attachScript(opening: Uint8Array): Script {
    const attach = messageOf(opening);
    if (attach.kind !== ControlKind.Attach) throw new Error('not an ATTACH');
    const choice = this.#random.nextBetween(0, 2);
    if (choice === 0) return { name: 'a recorded ATTACH', opening };
    const later = { ...attach, epoch: attach.epoch + this.#random.nextBetween(1, 9) };
    if (choice === 1) {
      return { name: 'a recorded ATTACH with a later epoch', opening: encodeControl(later) };
    }
    const proof = attachProof(this.#bytes(32), 'attach', later);
    return { name: 'a forged ATTACH', opening: encodeControl({ ...later, proof }) };
  }

  #bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.#random.nextBetween(0, 255));
  }

  poll(): number {
    let moved = 0;
    for (const control of [...this.#controls]) {
      moved += control.poll();
      if (!control.isOpen) this.#controls.delete(control);
    }
    return moved;
  }

  /** They leave, so that nothing of theirs is left behind. */
  leave(): void {
    for (const control of this.#controls) control.close();
  }
}

const NOBODY: ControlRules = {
  time: { nowUs: 0 } as ControlRules['time'],
  isDuplicated: () => false,
  change: () => false,
  onAnswered: () => undefined,
};

function forgedPropose(
  secret: Uint8Array,
  opening: Uint8Array,
  challenge: ControlMessage,
  recorded: Uint8Array,
): Uint8Array {
  const hello = messageOf(opening);
  const propose = messageOf(recorded);
  if (hello.kind !== ControlKind.Hello || challenge.kind !== ControlKind.Challenge)
    throw new Error('not a greeting');
  if (propose.kind !== ControlKind.Propose) throw new Error('not a PROPOSE');
  const transcript = new Transcript(secret);
  transcript.add(hello);
  transcript.isProved(challenge);
  return encodeControl(transcript.sign(propose));
}

function messageOf(frame: Uint8Array): ControlMessage {
  const head = decodeControlHead(frame);
  if (head === undefined) throw new Error('half a frame');
  return decodeControlBody(head.kind, frame.slice(CONTROL_HEAD_BYTES));
}
