// Both ends of the bootstrap against any sequence of frames: a server opens a session only for a
// right HELLO and a right PROPOSE, a client only with a server that proved itself; everything else
// ends in a refusal or a typed error, in time, and nothing is left.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { openEngine } from '../../test/support/engine-pair.js';
import { fuzzTarget } from '../../test/support/fuzz-target.js';
import {
  type Heard,
  HOSTILE_SECRET,
  isUntouched,
  type Line,
  scriptFrom,
  speak,
} from '../../test/support/hostile-scripts.js';
import { openDescriptors } from '../../test/support/process-resources.js';
import {
  type Accept,
  type Challenge,
  RAW_GENERATION,
  RAW_HOST_ID,
  rawPropose,
  transcriptOf,
} from '../../test/support/raw-handshake.js';
import { listenRaw, RawPeer } from '../../test/support/raw-peer.js';
import { sleepMs, withinMs } from '../base/clock.js';
import { ERROR_CODES, isTcpxError } from '../base/errors.js';
import { ControlKind, type ControlMessage, Feature } from '../wire/control-frame.js';
import type { Engine } from './engine.js';
import { Transcript } from './transcript.js';

const LIMIT_MS = 5000;
const secret = new TextEncoder().encode(HOSTILE_SECRET);
const opening = {
  'trust.secret': HOSTILE_SECRET,
  'session.handshakeTimeoutMs': 100,
  'session.connectTimeoutMs': 100,
  'session.peersMax': 256,
} as const;

/** One engine for all runs, server and client; at the end nothing of them may be left. */
function sharedEngine() {
  let opened: Promise<{ engine: Engine; port: number; descriptors: number }> | undefined;
  const open = async () => {
    const engine = await openEngine(opening);
    const port = engine.listen({ host: '127.0.0.1', port: 0 });
    await sleepMs(20);
    return { engine, port, descriptors: openDescriptors() };
  };
  const close = async (): Promise<void> => {
    if (opened === undefined) return;
    const { engine, descriptors } = await opened;
    opened = undefined;
    const isLeft = () => engine.sessions.length > 0 || openDescriptors() > descriptors;
    for (let tries = 0; tries < 300 && isLeft(); tries++) await sleepMs(10);
    assert.equal(engine.sessions.length, 0, 'sessions are left');
    assert.ok(openDescriptors() <= descriptors, 'descriptors are left');
    await engine.close();
  };
  return { get: () => (opened ??= open()), close };
}

const shared = sharedEngine();

async function attackServer(script: readonly Line[]): Promise<void> {
  const { port } = await shared.get();
  const peer = await RawPeer.connect(port);
  const answers: ControlMessage[] = [];
  let heard: Heard = { nonce: randomBytes(32), challenge: undefined, sessionId: 1 };
  let isProved = false;
  // By what was said first: a line that was cut to nothing was not said.
  let greeting: Line['say'] | undefined;
  for (const [index, one] of script.entries()) {
    const said = speak(one, heard);
    peer.sendBytes(said);
    if (said.length > 0) greeting ??= one.say;
    isProved ||= hasProof(one, heard, said);
    // An honest beginning hears the answer before it goes on.
    if (index > 1 || answers.length < index || !isUntouched(one)) continue;
    const answer = await peer.next(LIMIT_MS).catch(() => undefined);
    if (answer === undefined) break;
    answers.push(answer);
    if (answer.kind === ControlKind.Challenge) heard = { ...heard, challenge: answer };
    if (answer.kind === ControlKind.Accept) heard = acceptedBy(answer, one, heard);
  }
  peer.socket.end();
  for (let answer = await peer.next(LIMIT_MS); answer !== undefined; ) {
    answers.push(answer);
    answer = await peer.next(LIMIT_MS);
  }
  peer.close();
  checkAnswers(greeting === 'hello', isProved, answers);
}

function acceptedBy(accept: Accept, proposed: Line, heard: Heard): Heard {
  if (heard.challenge === undefined) return heard;
  const transcript = transcriptOf(secret, heard.nonce, heard.challenge);
  rawPropose(transcript, proposed.wish);
  assert.ok(transcript.isProved(accept), 'the server proves what it accepts');
  return { ...heard, sessionId: accept.sessionId, key: transcript.sessionKey() };
}

/** Said as it should be, to the last byte: the proof covers the settings behind it. */
function hasProof(one: Line, heard: Heard, said: Uint8Array): boolean {
  if (one.say !== 'propose' || heard.challenge === undefined) return false;
  const right = speak({ ...one, edits: [], cut: 0 }, heard);
  return Buffer.from(right).equals(said);
}

function checkAnswers(
  isGreeted: boolean,
  isProved: boolean,
  answers: readonly ControlMessage[],
): void {
  for (const answer of answers) {
    if (answer.kind === ControlKind.Refuse) {
      assert.ok(Object.hasOwn(ERROR_CODES, answer.code), `refused with ${answer.code}`);
    } else if (answer.kind === ControlKind.Accept) {
      assert.ok(isGreeted && isProved, 'accepted without a proof');
    } else {
      assert.equal(answer.kind, ControlKind.Challenge);
      assert.ok(isGreeted, 'challenged without a greeting');
    }
  }
}

/** A server that may know the secret, and then follows its script. */
function answerClient(script: readonly Line[], isProved: boolean) {
  return async (peer: RawPeer): Promise<void> => {
    const first = await peer.next(LIMIT_MS);
    let lines = script;
    let accepted: ControlMessage | undefined;
    if (first?.kind === ControlKind.Hello && isProved) {
      const transcript = new Transcript(secret);
      transcript.add(first);
      peer.send(challengeOf(transcript));
      const propose = await peer.next(LIMIT_MS);
      if (propose?.kind === ControlKind.Propose) transcript.isProved(propose);
      accepted = acceptOf(transcript, script[0]);
    } else if (first?.kind === ControlKind.Attach) {
      lines = script.slice(1);
    }
    const heard = { nonce: randomBytes(32), challenge: undefined, sessionId: 7 };
    if (accepted !== undefined) peer.send(accepted);
    for (const one of lines) peer.sendBytes(speak(one, heard));
    peer.socket.end();
  };
}

function challengeOf(transcript: Transcript): Challenge {
  const kind = ControlKind.Challenge;
  const nonce = randomBytes(32);
  const identity = { generation: RAW_GENERATION, nonce, hostId: RAW_HOST_ID, name: 'raw' };
  return transcript.sign({ kind, features: Feature.Tcp | Feature.Secret, ...identity });
}

/** An ACCEPT with a right proof, of settings and addresses that may be anything. */
function acceptOf(transcript: Transcript, line: Line | undefined): ControlMessage | undefined {
  if (line?.say !== 'accept' || !isUntouched(line)) return undefined;
  const { channels, windowChunks, chunkBytes } = line.wish;
  const agreed = { sessionId: 7, channels, windowChunks, chunkBytes, addresses: [line.text] };
  return transcript.sign({ kind: ControlKind.Accept, ...agreed });
}

async function attackClient(script: readonly Line[], isProved: boolean): Promise<void> {
  const { engine } = await shared.get();
  const play = answerClient(script, isProved);
  const raw = await listenRaw((peer) => void play(peer).catch(() => peer.close()));
  const attempt = engine.connect('127.0.0.1', { port: raw.port, isPatient: false }).then(
    () => 'a session with a peer that never proved a channel',
    (error: unknown) => error,
  );
  const outcome = await withinMs(attempt, LIMIT_MS);
  raw.close();
  if (!isTcpxError(outcome)) throw outcome instanceof Error ? outcome : new Error(String(outcome));
}

export const FUZZ_TARGETS = [
  fuzzTarget(
    'bootstrap: a server accepts a right proof alone, and answers everything else',
    { runs: 80, close: shared.close },
    scriptFrom(['hello', 'propose', 'attach']),
    attackServer,
  ),
  fuzzTarget(
    'bootstrap: a client ends with a typed error, whatever the server says',
    { runs: 60, close: shared.close },
    fc.record({ script: scriptFrom(['accept', 'attached']), isProved: fc.boolean() }),
    ({ script, isProved }) => attackClient(script, isProved),
  ),
];
