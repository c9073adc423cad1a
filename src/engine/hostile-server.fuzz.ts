// A client with transfers under way against a server that has proved itself and then says anything
// on its channel: everything that was posted settles with a typed error or is done, no byte lands
// outside of what was granted or asked for, and nothing is left.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { openEngine } from '../../test/support/engine-pair.js';
import { fuzzTarget } from '../../test/support/fuzz-target.js';
import {
  buildFrame,
  type FrameIdea,
  frameIdea,
  type Victim,
} from '../../test/support/hostile-frames.js';
import { openDescriptors } from '../../test/support/process-resources.js';
import { RAW_GENERATION, RAW_HOST_ID } from '../../test/support/raw-handshake.js';
import { listenRaw, type RawPeer } from '../../test/support/raw-peer.js';
import { sleepMs, withinMs } from '../base/clock.js';
import { isTcpxError } from '../base/errors.js';
import type { Region } from '../memory/region.js';
import { ControlKind, Feature, type MessageOf } from '../wire/control-frame.js';
import * as frame from '../wire/data-frame.js';
import type { Engine } from './engine.js';
import { Transcript } from './transcript.js';
import { attachProof } from './trust.js';

const LIMIT_MS = 6000;
const PART_BYTES = 4096;
const REMOTE = { slot: 1, generation: 1, key: 'ab'.repeat(16), bytes: PART_BYTES };

interface Case {
  readonly ideas: readonly FrameIdea[];
  readonly isChecked: boolean;
  readonly isSilent: boolean;
  readonly posts: readonly ('write' | 'read' | 'notify')[];
}

/** One engine for all runs; at the end nothing of its sessions may be left. */
let shared: Promise<{ engine: Engine; descriptors: number; memory: Uint8Array }> | undefined;

/** Sessions of this batch: runs that none has show nothing. */
let made = 0;

async function open() {
  const engine = await openEngine({
    'session.reconnectMs': 300,
    'session.stallMs': 100,
    'session.handshakeTimeoutMs': 300,
    'flow.channels': 1,
    'session.peersMax': 256,
  });
  await sleepMs(20);
  return { engine, descriptors: openDescriptors(), memory: new Uint8Array(7 * PART_BYTES) };
}

async function close(): Promise<void> {
  if (shared === undefined) return;
  const { engine, descriptors } = await shared;
  shared = undefined;
  assert.ok(made > 0, 'no run of the batch had a session');
  made = 0;
  const isLeft = () => engine.sessions.length > 0 || openDescriptors() > descriptors;
  for (let tries = 0; tries < 500 && isLeft(); tries++) await sleepMs(10);
  assert.equal(engine.sessions.length, 0, 'sessions are left');
  assert.ok(openDescriptors() <= descriptors, 'descriptors are left');
  await engine.close();
}

/** The server by hand: it greets and attaches as it should, once, and then plays. */
class HostileServer {
  readonly #case: Case;
  readonly #regions: readonly Region[];
  #key: Uint8Array = new Uint8Array(0);
  #hasPlayed = false;

  constructor(one: Case, regions: readonly Region[]) {
    this.#case = one;
    this.#regions = regions;
  }

  async serve(peer: RawPeer): Promise<void> {
    const first = await peer.next(LIMIT_MS);
    if (first?.kind === ControlKind.Hello) await this.#greet(peer, first);
    else if (first?.kind === ControlKind.Attach && !this.#hasPlayed) this.#attach(peer, first);
    else peer.close();
  }

  async #greet(peer: RawPeer, hello: MessageOf<typeof ControlKind.Hello>): Promise<void> {
    const transcript = new Transcript(new Uint8Array(0));
    transcript.add(hello);
    const features = Feature.Tcp | (this.#case.isChecked ? Feature.Checked : 0);
    const said = { features, generation: RAW_GENERATION, hostId: RAW_HOST_ID, name: 'hostile' };
    const nonce = randomBytes(32);
    peer.send(transcript.sign({ kind: ControlKind.Challenge, nonce, ...said }));
    const propose = await peer.next(LIMIT_MS);
    if (propose?.kind !== ControlKind.Propose) return;
    transcript.isProved(propose);
    const agreed = { channels: 1, windowChunks: 4, chunkBytes: PART_BYTES };
    const accept = { kind: ControlKind.Accept, sessionId: 7, addresses: [], ...agreed } as const;
    peer.send(transcript.sign(accept));
    this.#key = transcript.sessionKey();
  }

  #attach(peer: RawPeer, attach: MessageOf<typeof ControlKind.Attach>): void {
    this.#hasPlayed = true;
    const proof = attachProof(this.#key, 'attached', attach);
    peer.send({ kind: ControlKind.Attached, proof });
    // Then whatever was thought of, as if all before had been taken.
    const counts = new Map<number, number>();
    const victim: Victim = {
      regions: this.#regions,
      isChecked: this.#case.isChecked,
      sequenceOf: (kind) => counts.get(counterOf(kind)) ?? 0,
      acknowledged: () => 0,
      framed: () => 3,
    };
    for (const idea of this.#case.ideas) {
      peer.sendBytes(buildFrame(idea, victim));
      const counter = counterOf(idea.kind);
      counts.set(counter, (counts.get(counter) ?? 0) + 1);
    }
    if (!this.#case.isSilent) setTimeout(() => peer.close(), 20);
  }
}

// Writes, notifications and signals share a counter.
function counterOf(kind: number): number {
  const isShared = kind === frame.FRAME_NOTIFY || kind === frame.FRAME_SIGNAL;
  return isShared ? frame.FRAME_WRITE : kind;
}

async function attack(one: Case): Promise<void> {
  const { engine, memory } = await (shared ??= open());
  memory.fill(1);
  const part = (index: number, rights: { read: boolean; write: boolean }): Region =>
    engine.register(memory.subarray(index * PART_BYTES, (index + 1) * PART_BYTES), rights);
  const granted = part(1, { read: true, write: true });
  const local = part(3, { read: false, write: false });
  const readable = part(5, { read: true, write: false });
  const hostile = new HostileServer(one, [granted, local, readable]);
  const raw = await listenRaw((peer) => void hostile.serve(peer).catch(() => peer.close()));
  try {
    const session = await engine.connect('127.0.0.1', { port: raw.port, isPatient: false });
    made++;
    const block = { local, localOffset: 0, remote: REMOTE, remoteOffset: 0, bytes: 1000 };
    const settled = one.posts.map((operation) => {
      const options = { deadlineMs: 500 };
      if (operation === 'notify') return session.notify('x').done;
      return session[operation]([block], options).done;
    });
    const all = await withinMs(Promise.allSettled(settled), LIMIT_MS);
    assert.ok(all !== undefined, 'what was posted settles');
    for (const outcome of all) {
      if (outcome.status === 'rejected' && !isTcpxError(outcome.reason)) throw outcome.reason;
    }
    await session.close();
  } catch (error) {
    if (!isTcpxError(error)) throw error;
  } finally {
    raw.close();
    for (const region of [granted, local, readable]) await engine.deregister(region);
  }
  checkMemory(memory, one.posts.includes('read'));
}

function checkMemory(memory: Uint8Array, hasRead: boolean): void {
  for (let index = 0; index < 7; index++) {
    if (index === 1 || (index === 3 && hasRead)) continue;
    const bytes = memory.subarray(index * PART_BYTES, (index + 1) * PART_BYTES);
    assert.ok(
      bytes.every((byte) => byte === 1),
      `part ${index} was not granted to anybody`,
    );
  }
}

export const FUZZ_TARGETS = [
  fuzzTarget(
    'hostile server: a client settles everything and lets nothing land elsewhere',
    { runs: 20, close },
    fc.record({
      ideas: fc.array(frameIdea, { maxLength: 12 }),
      isChecked: fc.boolean(),
      isSilent: fc.boolean(),
      posts: fc.array(fc.constantFrom('write' as const, 'read', 'notify'), { maxLength: 3 }),
    }),
    attack,
  ),
];
