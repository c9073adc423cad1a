// An engine over the plugin against a peer from docs/protocol.md alone: the frames of matched
// transfers up to the greeting, and what ends the session. Chunks are the plugin's own.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { LiveSession } from '../../src/engine/live-session.js';
import { liveSession } from '../../src/engine/session-face.js';
import { closeProviders, openProvider } from '../native/tcpx-pair.js';
import { until } from '../support/until.js';
import { fixed, numberIn } from './page-frames.js';
import { FEATURE, MATCH_HEAD, PagePeer } from './page-peer.js';

after(closeProviders);

const MATCH_INDEX = 0xfffffffe;
const HELLO = 1;
const JOINED = 2;
const HANDLE_BYTES = 128;
const CHUNK_BYTES = 256 * 1024;

/** Numbers and texts, one behind the other. */
class BodyReader {
  readonly #body: Buffer;
  #at = 0;

  constructor(body: Buffer) {
    this.#body = body;
  }

  take(bytes: number): Buffer {
    this.#at += bytes;
    assert.ok(this.#at <= this.#body.length, 'the body ends too early');
    return this.#body.subarray(this.#at - bytes, this.#at);
  }

  number(bytes: number): number {
    return this.take(bytes).readUIntLE(0, bytes);
  }

  text(): string {
    return this.take(this.number(2)).toString();
  }

  get isOver(): boolean {
    return this.#at === this.#body.length;
  }
}

test('page peer: matched transfers greet as the page says, a broken rule ends all', async () => {
  const sessions: LiveSession[] = [];
  const engine = await openProvider(
    'plugin',
    { settings: { 'flow.chunkBytes': CHUNK_BYTES } },
    {
      onSession: (session) => sessions.push(liveSession(session)),
    },
  );
  const port = engine.listen({ host: '127.0.0.1', port: 0 });
  const cases: readonly (readonly [string, Uint8Array])[] = [
    ['reserved bytes', fixed(MATCH_HEAD, { kind: HELLO, reserved: 1 })],
    ['a kind beyond the last', fixed(MATCH_HEAD, { kind: 11 })],
    ['JOINED before HELLO', fixed(MATCH_HEAD, { kind: JOINED })],
  ];
  for (const [name, bytes] of cases) {
    const peer = await PagePeer.open(port, { features: FEATURE.tcpx | FEATURE.tcpxHere });
    for (let index = 0; index < peer.accept.number('channels'); index++) {
      await peer.attach(index, 0);
    }
    await until('the session', 5000, () => sessions.at(-1)?.facts.id === peer.sessionId);
    const session = sessions.at(-1)!;
    const match = await peer.attach(MATCH_INDEX, 1);
    const [head, body] = (await match.matchFrame()) ?? assert.fail('no HELLO');
    const { kind, flags, reserved } = Object.fromEntries(
      ['kind', 'flags', 'reserved'].map((field) => [field, numberIn(MATCH_HEAD, field, head)]),
    );
    assert.deepEqual([kind, flags, reserved], [HELLO, 0, 0]);
    const hello = new BodyReader(body);
    assert.match(hello.text(), /^GPUDirectTCPX/);
    assert.match(hello.text(), /emulator$/);
    assert.deepEqual([hello.number(4), hello.number(4)], [7, 1], 'table version, emulated');
    assert.ok(['cuda', 'host'].includes(hello.text()), 'pointer type');
    assert.equal(hello.number(4), CHUNK_BYTES, 'its own, not what was agreed for data channels');
    assert.equal(hello.number(4), 0, 'host receives');
    const nics = Array.from({ length: hello.number(2) }, () => hello.text());
    assert.deepEqual(nics, ['eth1']);
    const handles = Array.from({ length: hello.number(2) }, () => hello.take(HANDLE_BYTES));
    assert.equal(handles.length, 1);
    assert.ok(hello.isOver, 'nothing behind the handles');
    match.send(bytes);
    await until(`the end by ${name}`, 5000, () => session.isEnding());
    assert.match(session.error?.code ?? '', /^ERR_WIRE_/, name);
    peer.close();
  }
});
