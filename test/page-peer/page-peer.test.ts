// An engine against a peer that was written from docs/protocol.md alone and takes the places of
// fields from that page: whoever changes the protocol and forgets the page breaks these.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import type { Engine } from '../../src/engine/engine.js';
import type { LiveSession } from '../../src/engine/live-session.js';
import { liveSession } from '../../src/engine/session-face.js';
import { closeEngines, openEngine, type Settings } from '../support/engine-pair.js';
import { until } from '../support/until.js';
import { control, fixed, numberIn } from './page-frames.js';
import {
  DataFrame,
  HEAD,
  KIND,
  PageConnection,
  type PageOptions,
  PagePeer,
  type PageRegion,
  regionOf,
} from './page-peer.js';

after(closeEngines);

const SECRET = 'a secret of the page peer';
const CONTROL_INDEX = 0xffffffff;

interface World {
  readonly engine: Engine;
  readonly port: number;
  readonly memory: Uint8Array;
  readonly region: PageRegion;
  readonly messages: string[];
  readonly sessions: LiveSession[];
}

async function openWorld(settings: Settings = {}): Promise<World> {
  const messages: string[] = [];
  const sessions: LiveSession[] = [];
  const engine = await openEngine(settings, {
    onNotification: ({ bytes }) => messages.push(Buffer.from(bytes).toString()),
    onSession: (session) => sessions.push(liveSession(session)),
  });
  const port = engine.listen({ host: '127.0.0.1', port: 0 });
  const memory = new Uint8Array(1000);
  const region = engine.register(memory, { read: true, write: true }).descriptor;
  return { engine, port, memory, region, messages, sessions };
}

let shared: Promise<World> | undefined;
const world = (): Promise<World> => (shared ??= openWorld());

async function ready(port: number, options: PageOptions = {}) {
  const peer = await PagePeer.open(port, options);
  return { peer, data: await peer.attach(0, 0) };
}

/** The next frame that is no ACK; acknowledgements are looked at on the way. */
async function nextFrame(data: PageConnection): Promise<DataFrame> {
  for (;;) {
    const frame = await data.frame();
    assert.ok(frame !== undefined, 'the channel lives');
    if (frame.get('kind') !== KIND.ACK) return frame;
  }
}

async function acknowledged(data: PageConnection, count: number): Promise<void> {
  for (;;) {
    const frame = await data.frame();
    assert.ok(frame !== undefined, 'the channel lives');
    if (frame.get('acknowledged') === count) return;
  }
}

test('page peer: nothing of it is taken from src', () => {
  for (const name of ['page-frames', 'page-peer', 'page-plan', 'page-server']) {
    const url = new URL(`../../../test/page-peer/${name}.ts`, import.meta.url);
    for (const [, from] of readFileSync(url, 'utf8').matchAll(/ from '([^']+)'/g)) {
      assert.match(from ?? '', /^(node:|\.\/page-(frames|peer)\.js)/);
    }
  }
});

for (const isChecked of [false, true]) {
  const how = isChecked ? 'with checks' : 'without checks';

  test(`page peer: writes, reads and notifies ${how}`, async () => {
    const { port, memory, region, messages } = await world();
    const { peer, data } = await ready(port, { isChecked });
    memory.fill(0);
    data.send(peer.write(region, 0, 10, Buffer.from('written')));
    const place = { ...regionOf(region), operationBytes: 5 };
    const table = [
      { offset: 500, bytes: 2 },
      { offset: 400, bytes: 3 },
    ];
    const head = { kind: KIND.WRITE, sequence: 1, transfer: 1, ...place };
    data.send(peer.frame(head, table, Buffer.from('abcde')));
    data.send(peer.notify(2, `told ${how}`));
    await acknowledged(data, 3);
    assert.equal(Buffer.from(memory.subarray(10, 17)).toString(), 'written');
    assert.equal(Buffer.from(memory.subarray(500, 502)).toString(), 'ab');
    assert.equal(Buffer.from(memory.subarray(400, 403)).toString(), 'cde');
    await until('the message', 5000, () => messages.includes(`told ${how}`));
    data.send(peer.read(region, 0, 10, 7));
    const answer = await nextFrame(data);
    assert.deepEqual([answer.get('kind'), answer.get('sequence')], [KIND.READ_DATA, 0]);
    assert.equal(answer.payload.toString(), 'written');
    peer.close();
  });
}

test('page peer: what an engine sends is what the page says, with checks and without', async () => {
  const { port, sessions } = await world();
  for (const isChecked of [false, true]) {
    const { peer, data } = await ready(port, { isChecked });
    await until('the session', 5000, () => sessions.at(-1)?.facts.id === peer.sessionId);
    const sent = sessions.at(-1)!.notify('from the engine').done;
    const frame = await nextFrame(data);
    assert.equal(frame.get('kind'), KIND.NOTIFY);
    assert.equal(frame.payload.toString(), 'from the engine');
    const copy = { kind: KIND.NOTIFY, transfer: frame.head.readBigUInt64LE(16) };
    const built = peer.frame({ ...copy, sequence: 0 }, [], frame.payload);
    assert.deepEqual(built.subarray(0, 64), frame.head);
    data.send(peer.frame({ kind: KIND.ACK, acknowledged: 1 }));
    assert.equal((await sent).bytesConfirmed, 0);
    peer.close();
  }
});

test('page peer: with a secret both ends prove themselves, and with another none', async () => {
  const { port, region } = await openWorld({ 'trust.secret': SECRET });
  const { peer, data } = await ready(port, { secret: SECRET });
  data.send(peer.write(region, 0, 0, Buffer.from('x')));
  await acknowledged(data, 1);
  peer.close();
  await assert.rejects(ready(port, { secret: `${SECRET}?` }), /does not prove itself/);
});

test('page peer: an empty name, unknown bits of features and of explicit are taken', async () => {
  const { port } = await world();
  const { peer } = await ready(port, { name: '', explicit: 0xfffffff8 });
  assert.equal(peer.accept.number('channels'), 1);
  peer.close();
});

const REFUSALS: readonly (readonly [number, string, (region: PageRegion) => PageRegion, number])[] =
  [
    [1, 'another generation', (region) => ({ ...region, generation: region.generation + 1 }), 0],
    [1, 'a slot that is free', (region) => ({ ...region, slot: 63 }), 0],
    [2, 'a wrong key', (region) => ({ ...region, key: '00'.repeat(16) }), 0],
    [4, 'beyond the region', (region) => region, 994],
  ];

test('page peer: a refused write or read is told its reason, and the session goes on', async () => {
  const { engine, port, region, memory } = await world();
  const closed = engine.register(new Uint8Array(100), { read: false, write: false }).descriptor;
  const { peer, data } = await ready(port);
  memory.fill(0);
  const cases = [...REFUSALS, [3, 'no right', () => closed, 0] as const];
  for (const [index, [reason, name, change, offset]] of cases.entries()) {
    data.send(peer.write(change(region), index, offset, Buffer.from('refused')));
    data.send(peer.read(change(region), index, offset, 7));
    const seen = [await nextFrame(data), await nextFrame(data)].map((frame) => ({
      kind: frame.get('kind'),
      sequence: frame.get('sequence'),
      reason: frame.head.readUInt32LE(16),
      of: frame.head.readUInt32LE(20),
    }));
    const told = { kind: KIND.REFUSE, sequence: index, reason };
    assert.ok(
      seen.some((one) => one.of === KIND.WRITE),
      name,
    );
    for (const one of seen) assert.deepEqual({ ...one, of: 0 }, { ...told, of: 0 }, name);
  }
  assert.ok(memory.every((byte) => byte === 0));
  data.send(peer.write(region, cases.length, 0, Buffer.from('good')));
  await acknowledged(data, cases.length + 1);
  peer.close();
});

type Breaking = (peer: PagePeer, region: PageRegion) => Uint8Array;
const write =
  (values: object, payload = Buffer.from('1234567')): Breaking =>
  (peer, region) => {
    const place = { ...regionOf(region), operationBytes: payload.length };
    return peer.frame({ kind: KIND.WRITE, transfer: 1, ...place, ...values }, [], payload);
  };
const bare =
  (values: object): Breaking =>
  (peer) =>
    peer.frame({ ...values });

const RULES: readonly (readonly [number, string, Breaking])[] = [
  [1, 'kind 8', bare({ kind: 8 })],
  [2, 'a flag', bare({ kind: KIND.ACK, flags: 1 })],
  [2, 'a check that was not agreed', bare({ kind: KIND.ACK, headCheck: 1 })],
  [3, '1,001 entries', write({ tableEntries: 1001 })],
  [3, 'a SIGNAL with a table', bare({ kind: KIND.SIGNAL, tableEntries: 1 })],
  [4, 'an empty write', write({}, Buffer.alloc(0))],
  [
    5,
    'a request with payload',
    bare({ kind: KIND.READ_REQUEST, operationBytes: 1, payloadBytes: 1 }),
  ],
  [6, 'a far offset', write({ offset: 2n ** 53n })],
  [
    7,
    'an entry too few',
    (peer, region) => {
      const place = { ...regionOf(region), operationBytes: 7 };
      const entry = { offset: 0, bytes: 6 };
      return peer.frame({ kind: KIND.WRITE, ...place }, [entry], Buffer.from('1234567'));
    },
  ],
  [8, 'a write out of turn', write({ sequence: 1 })],
  [8, 'a SIGNAL out of turn', bare({ kind: KIND.SIGNAL, sequence: 5 })],
  [
    9,
    'more reads than the window',
    (peer, region) =>
      Buffer.concat(Array.from({ length: 200 }, (_, index) => peer.read(region, index, 0, 1000))),
  ],
  [10, 'an acknowledgement of nothing', bare({ kind: KIND.ACK, acknowledged: 1 })],
  [
    10,
    'a READ_DATA that nobody asked for',
    bare({ kind: KIND.READ_DATA, operationBytes: 1, payloadBytes: 1 }),
  ],
  [12, 'reason 7', bare({ kind: KIND.REFUSE, transfer: 0x100000007n })],
];

for (const [rule, name, make] of RULES) {
  test(`page peer: ${name} breaks rule ${rule}, and the session ends`, async () => {
    const { port, region, memory, sessions } = await world();
    const { peer, data } = await ready(port);
    await until('the session', 5000, () => sessions.at(-1)?.facts.id === peer.sessionId);
    const session = sessions.at(-1)!;
    memory.fill(0);
    if (rule === 9) data.socket.pause();
    data.send(make(peer, region));
    await until('its end', 5000, () => session.isEnding());
    assert.equal(session.error?.code, 'ERR_WIRE_FRAME');
    assert.equal(session.error.facts['rule'], ruleText(rule));
    data.socket.resume();
    await Promise.all([data.ended(), peer.control.ended()]);
    assert.ok(memory.every((byte) => byte === 0));
  });
}

function ruleText(number: number): string {
  const page = readFileSync(new URL('../../../docs/protocol.md', import.meta.url), 'utf8');
  const row = new RegExp(`^\\| ${number} \\| (.*) \\|$`, 'm');
  return row.exec(page.slice(page.indexOf('### Rules of data frames')))?.[1] ?? '';
}

test('page peer: a fence for no channel is nothing, one cut short ends the session', async () => {
  const { port, sessions } = await world();
  const { peer, data } = await ready(port);
  const title = 'FENCE, the payload of a SIGNAL';
  for (const [index, channel] of [99, 0].entries()) {
    const fence = fixed(title, { kind: 1, channel, epoch: 77 });
    data.send(peer.frame({ kind: KIND.SIGNAL, sequence: index }, [], fence));
  }
  await acknowledged(data, 2);
  const session = sessions.at(-1)!;
  assert.ok(!session.isEnding());
  const short = fixed(title, { kind: 1 }).subarray(0, 12);
  data.send(peer.frame({ kind: KIND.SIGNAL, sequence: 2 }, [], short));
  await until('its end', 5000, () => session.isEnding());
  assert.equal(session.error?.code, 'ERR_WIRE_FRAME');
});

test('page peer: damage is refused, or fenced off and attached anew', async () => {
  const { port, region, memory } = await world();
  const { peer, data } = await ready(port, { isChecked: true });
  memory.fill(0);
  const hurt = peer.write(region, 0, 0, Buffer.from('payload'));
  hurt[70] = 0;
  data.send(hurt);
  const refusal = await nextFrame(data);
  assert.deepEqual([refusal.get('kind'), refusal.head.readUInt32LE(16)], [KIND.REFUSE, 5]);
  memory.fill(0);
  const lost = peer.write(region, 1, 100, Buffer.from('payload'));
  lost[57] = 1;
  data.send(lost);
  await data.ended();
  assert.ok(memory.every((byte) => byte === 0));
  // Any higher epoch will do.
  const again = await peer.attach(0, 5);
  const fence = await nextFrame(again);
  const title = 'FENCE, the payload of a SIGNAL';
  const said = ['kind', 'channel', 'epoch', 'landed', 'cause', 'refusals'];
  const values = said.map((name) => numberIn(title, name, fence.payload));
  assert.equal(fence.get('kind'), KIND.SIGNAL);
  assert.deepEqual(values, [1, 0, 0, 1, 1, 1]);
  again.send(peer.write(region, 0, 100, Buffer.from('payload')));
  await acknowledged(again, 1);
  assert.equal(Buffer.from(memory.subarray(100, 107)).toString(), 'payload');
  peer.close();
});

test('page peer: used epochs, strangers and unknown channels are refused', async () => {
  const { port } = await world();
  const { peer } = await ready(port);
  await assert.rejects(peer.attach(0, 0), /^Error: ERR_WIRE_STATE: /);
  await assert.rejects(peer.attach(0, 2 ** 31), /^Error: ERR_WIRE_LIMIT: /);
  await assert.rejects(peer.attach(7, 0), /^Error: ERR_WIRE_LIMIT: /);
  await assert.rejects(peer.attach(0, 9, Buffer.alloc(32)), /^Error: ERR_PEER_STALE_SESSION: /);
  const known = await peer.attach(0, 9);
  assert.ok(!known.isClosed);
  peer.close();
});

const FIRST: readonly (readonly [string, string, Uint8Array])[] = [
  ['another version', 'ERR_WIRE_VERSION', control('HELLO', { name: 'x' }, { version: 1 })],
  ['another magic', 'ERR_WIRE_MAGIC', Buffer.from('GET / HTTP/1.1\r\n')],
  ['reserved bytes', 'ERR_WIRE_FRAME', control('HELLO', { name: 'x' }, { reserved: 1 })],
  ['a frame that is not due', 'ERR_WIRE_STATE', control('GOODBYE', { reason: 'x' })],
  ['control characters', 'ERR_WIRE_FRAME', control('HELLO', { name: 'a\nb' })],
  ['a name that is too long', 'ERR_WIRE_FRAME', control('HELLO', { name: 'a'.repeat(256) })],
  ['a body that is too long', 'ERR_WIRE_LIMIT', control('GOODBYE', { reason: 'a'.repeat(5000) })],
];

for (const [name, code, bytes] of FIRST) {
  test(`page peer: ${name} is refused with ${code}`, async () => {
    const { port } = await world();
    const connection = await PageConnection.dial(port);
    connection.send(bytes);
    const heard = await connection.hear();
    assert.equal(heard?.name, 'REFUSE');
    assert.deepEqual([heard.text('code'), heard.version], [code, 2]);
    await connection.ended();
  });
}

test('page peer: settings that both set by hand and differ in are refused', async () => {
  const { port } = await openWorld({ 'flow.channels': 2 });
  await assert.rejects(PagePeer.open(port, { explicit: 1 }), /ERR_CONFIG_MISMATCH: flow\.channels/);
});

test('page peer: a later control connection is taken, another epoch ends all', async () => {
  const { port, sessions } = await world();
  const { peer } = await ready(port);
  await until('the session', 5000, () => sessions.at(-1)?.facts.id === peer.sessionId);
  const session = sessions.at(-1)!;
  const later = await peer.attach(CONTROL_INDEX, 4);
  later.send(control('TAKEN', { epoch: 4 }));
  later.send(control('TAKEN', { epoch: 4 }));
  await peer.control.ended();
  assert.ok(!session.isEnding());
  later.send(control('TAKEN', { epoch: 5 }));
  await until('its end', 5000, () => session.isEnding());
  assert.equal(session.error?.code, 'ERR_WIRE_STATE');
});

test('page peer: GOODBYE ends the session at either end', async () => {
  const { port, sessions } = await world();
  const first = await ready(port);
  await until('the session', 5000, () => sessions.at(-1)?.facts.id === first.peer.sessionId);
  const session = sessions.at(-1)!;
  first.peer.control.send(control('GOODBYE', { reason: 'enough' }));
  await until('its end', 5000, () => session.isEnding());
  assert.match(session.error?.message ?? '', /said goodbye: enough/);
  const second = await ready(port);
  await until('the session', 5000, () => sessions.at(-1)?.facts.id === second.peer.sessionId);
  await sessions.at(-1)!.close();
  assert.equal((await second.peer.control.hear())?.name, 'GOODBYE');
});

test('page peer: the instance of connection info is the generation, byte by byte', async () => {
  const { engine, port } = await world();
  const { peer } = await ready(port);
  const text = peer.challenge.raw('generation').toString('hex');
  assert.equal(engine.connInfo().instance, text);
  assert.equal(numberIn(HEAD, 'kind', peer.notify(0, 'x')), KIND.NOTIFY);
  peer.close();
});
