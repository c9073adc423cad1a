// Matched transfers of an engine against a peer from docs/protocol.md alone. The page leaves the
// chunks to the plugin, and the peer has none: it answers HELLO with the engine's own handles, so
// that the engine's channels are joined with themselves, and what a READ makes it send is what a
// WRITE makes it receive.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Engine } from '../../src/engine/engine.js';
import { closeProviders, type Memory, makeMemory, openProvider } from '../native/tcpx-pair.js';
import { until } from '../support/until.js';
import { fixed, numberIn, type Values } from './page-frames.js';
import { FEATURE, MATCH_HEAD, type PageConnection, PagePeer } from './page-peer.js';
import {
  chunksOf,
  digestOf,
  FLAG,
  MATCH,
  MATCH_INDEX,
  type PagePlan,
  planBody,
  textsBody,
  textsOf,
} from './page-plan.js';

const CHUNK_BYTES = 64 * 1024;
const BYTES = 3 * CHUNK_BYTES + 5;
const SHAPE = { chunkBytes: CHUNK_BYTES, gatherBytes: 0, weights: [1] };
/** tcpx.deadlineMs of the engine: what a transfer of the peer's may take. */
const PATIENCE_MS = 1000;
const CHUNKS_MAX = 1024;

const told: string[] = [];
let engine: Engine;
let port: number;
let source: Memory;
let target: Memory;

before(async () => {
  const settings = {
    'flow.chunkBytes': CHUNK_BYTES,
    'tcpx.deadlineMs': PATIENCE_MS,
    'tcpx.peerChunksMax': CHUNKS_MAX,
    'session.reconnectMs': 500,
  };
  const onNotification = ({ bytes }: { bytes: Uint8Array }): void => {
    told.push(Buffer.from(bytes).toString());
  };
  engine = await openProvider('plugin', { settings }, { onNotification });
  port = engine.listen({ host: '127.0.0.1', port: 0 });
  source = makeMemory(engine, BYTES);
  target = makeMemory(engine, BYTES);
});

after(closeProviders);

function frame(kind: number, values: Values = {}, body: Uint8Array = Buffer.alloc(0)): Buffer {
  return Buffer.concat([fixed(MATCH_HEAD, { kind, bodyBytes: body.length, ...values }), body]);
}

class MatchPeer {
  readonly peer: PagePeer;
  readonly match: PageConnection;

  private constructor(peer: PagePeer, match: PageConnection) {
    this.peer = peer;
    this.match = match;
  }

  /** A session whose channels are ready. */
  static async open(): Promise<MatchPeer> {
    const peer = await PagePeer.open(port, { features: FEATURE.tcpx | FEATURE.tcpxHere });
    for (let index = 0; index < peer.accept.number('channels'); index++) {
      await peer.attach(index, 0);
    }
    const one = new MatchPeer(peer, await peer.attach(MATCH_INDEX, 1));
    const hello = await one.due(MATCH.HELLO);
    one.match.send(frame(MATCH.HELLO, {}, hello.body));
    await one.due(MATCH.JOINED);
    one.match.send(frame(MATCH.JOINED));
    return one;
  }

  async next() {
    const [head, body] = (await this.match.matchFrame()) ?? assert.fail('the connection has ended');
    const number = (name: string): number => numberIn(MATCH_HEAD, name, head);
    return { number, body, kind: number('kind'), flags: number('flags') };
  }

  async due(kind: number, transfer = 0, flags = 0) {
    const heard = await this.next();
    const words = heard.kind >= MATCH.REFUSE ? textsOf(heard.body).join(': ') : '';
    assert.deepEqual(
      [heard.kind, heard.number('transfer'), heard.flags],
      [kind, transfer, flags],
      words,
    );
    return heard;
  }

  send(kind: number, values: Values, body?: Uint8Array): void {
    this.match.send(frame(kind, values, body));
  }

  plan(slot: number, plan: PagePlan, changes: Values = {}): number {
    const digest = digestOf(chunksOf(plan));
    this.send(MATCH.PLAN, { plan: slot, digest, ...changes }, planBody(plan));
    return digest;
  }

  /** The code that the session ends with, as the peer is told it. */
  async goodbye(): Promise<string> {
    const heard = await this.peer.control.hear();
    assert.equal(heard?.name, 'GOODBYE');
    await this.match.ended();
    return heard.text('reason');
  }
}

function planFor({ region }: Memory, changes: Partial<PagePlan> = {}): PagePlan {
  const blocks = [{ region: 0, offset: 0, bytes: BYTES }];
  return { ...SHAPE, regions: [region.descriptor], blocks, ...changes };
}

test('page peer: a WRITE and a READ plan, GO, LANDED, DOWN and FENCED', async () => {
  const one = await MatchPeer.open();
  for (const [index] of source.bytes.entries()) source.bytes[index] = index * 7;
  // Two blocks that share a message, and one that is cut.
  const blocks = [100, 200, BYTES - 300].map((bytes, index) => {
    const offset = [BYTES - 100, BYTES - 300, 0][index]!;
    return { region: 0, offset, bytes };
  });
  const written = planFor(target, { blocks, gatherBytes: 1000 });
  const digest = one.plan(0, written);
  one.plan(63, { ...planFor(source), blocks, gatherBytes: 1000 });
  const lastTag = chunksOf(written).length;
  assert.equal(lastTag, 4, 'three hundred bytes, then three chunks');
  const flags = FLAG.notification | FLAG.paced;
  const announce = { transfer: 7, plan: 0, sequence: 0, tag: 1, digest };
  one.send(MATCH.ANNOUNCE, { ...announce, flags }, Buffer.from('by the page'));
  await one.due(MATCH.GO, 7);
  one.send(MATCH.READ, { transfer: 8, plan: 63 });
  const announced = await one.due(MATCH.ANNOUNCE, 8, FLAG.read);
  assert.deepEqual(
    ['sequence', 'tag', 'digest'].map((name) => announced.number(name)),
    [0, 1, digest],
  );
  const landed = await one.due(MATCH.LANDED, 7);
  assert.equal(landed.number('tag'), lastTag);
  one.send(MATCH.LANDED, { transfer: 8, flags: FLAG.read, tag: lastTag });
  assert.equal(Buffer.compare(target.bytes, source.bytes), 0);
  await until('the notification', 5000, () => told.length > 0);
  assert.deepEqual(told, ['by the page']);

  // What the target refuses is received and thrown away; the order of the channels stays.
  target.bytes.fill(0);
  const forged = { ...target.region.descriptor, key: 'ab'.repeat(16) };
  one.plan(0, { ...written, regions: [forged] });
  one.send(MATCH.ANNOUNCE, { ...announce, transfer: 9, sequence: 1, tag: lastTag + 1 });
  const [code] = textsOf((await one.due(MATCH.REFUSE, 9)).body);
  assert.equal(code, 'ERR_PEER_KEY');
  one.send(MATCH.READ, { transfer: 10, plan: 63 });
  await one.due(MATCH.ANNOUNCE, 10, FLAG.read);
  one.send(MATCH.LANDED, { transfer: 10, flags: FLAG.read, tag: 2 * lastTag });
  one.plan(0, written);
  one.send(MATCH.ANNOUNCE, { ...announce, transfer: 11, sequence: 2, tag: 2 * lastTag + 1 });
  one.send(MATCH.READ, { transfer: 12, plan: 63 });
  await one.due(MATCH.ANNOUNCE, 12, FLAG.read);
  await one.due(MATCH.LANDED, 11);
  assert.equal(Buffer.compare(target.bytes, source.bytes), 0, 'the one behind it');

  one.send(MATCH.DOWN, {}, textsBody('ERR_PEER_LOST', 'the page says so'));
  assert.equal(textsOf((await one.due(MATCH.FENCED)).body)[0], '');
  one.peer.close();
});

test('page peer: chunks beyond tcpx.peerChunksMax are refused; twice as many end it', async () => {
  const one = await MatchPeer.open();
  const blocks = Array.from({ length: 1000 }, (_, offset) => ({ region: 0, offset, bytes: 1 }));
  const digest = one.plan(0, planFor(target, { blocks }));
  // Blocks that share a chunk count as well.
  one.plan(1, planFor(source, { blocks, gatherBytes: 1000 }));
  const announce = (transfer: number, sequence: number): void =>
    one.send(MATCH.ANNOUNCE, { transfer, plan: 0, sequence, tag: 1 + sequence * 1000, digest });
  // Chunks are announced and never sent.
  announce(1, 0);
  one.send(MATCH.READ, { transfer: 2, plan: 1 });
  const refused = await one.due(MATCH.REFUSE, 2, FLAG.read);
  assert.match(textsOf(refused.body).join(' '), /ERR_PEER_REFUSED .*tcpx\.peerChunksMax/);
  announce(3, 1);
  await one.due(MATCH.REFUSE, 3);
  announce(4, 2);
  assert.match(await one.goodbye(), /ERR_WIRE_LIMIT|tcpx\.peerChunksMax/);
});

test('page peer: a READ of memory not granted is refused; the session goes on', async () => {
  const one = await MatchPeer.open();
  const closed = engine.register(new Uint8Array(engine.allocate(64).buffer), {
    rights: { read: false, write: true },
  });
  const { descriptor } = source.region;
  const cases: readonly (readonly [string, PagePlan])[] = [
    ['ERR_PEER_KEY', planFor(source, { regions: [{ ...descriptor, key: '00'.repeat(16) }] })],
    [
      'ERR_PEER_STALE_REGION',
      planFor(source, { regions: [{ ...descriptor, generation: descriptor.generation + 1 }] }),
    ],
    ['ERR_PEER_BOUNDS', planFor(source, { blocks: [{ region: 0, offset: 1, bytes: BYTES }] })],
    [
      'ERR_PEER_RIGHTS',
      planFor(source, {
        regions: [closed.descriptor],
        blocks: [{ region: 0, offset: 0, bytes: 64 }],
      }),
    ],
  ];
  for (const [transfer, [code, plan]] of cases.entries()) {
    one.plan(transfer, plan);
    one.send(MATCH.READ, { transfer, plan: transfer });
    const heard = await one.due(MATCH.REFUSE, transfer, FLAG.read);
    assert.equal(textsOf(heard.body)[0], code);
  }
  await engine.deregister(closed, 1000);
  one.peer.close();
});

type Act = (one: MatchPeer, digest: number) => void;

const first = (digest: number) => ({ transfer: 1, plan: 0, sequence: 0, tag: 1, digest });
const announced = (changes: Values): Act => {
  return (one, digest) => one.send(MATCH.ANNOUNCE, { ...first(digest), ...changes });
};
const planned = (changes: Partial<PagePlan>, head: Values = {}): Act => {
  return (one) => void one.plan(1, planFor(target, changes), head);
};

const BROKEN: readonly (readonly [string, RegExp, Act])[] = [
  ['a wrong tag', /ERR_WIRE_STATE.*tag 2, due are 0 and 1/, announced({ tag: 2 })],
  ['a wrong sequence', /ERR_WIRE_STATE.*announcement 1 /, announced({ sequence: 1 })],
  ['a wrong digest', /ERR_WIRE_STATE.*derived/, announced({ digest: 1 })],
  ['a plan that was not described', /ERR_WIRE_STATE.*plan 5/, announced({ plan: 5 })],
  ['a READ that was not asked for', /ERR_WIRE_STATE.*read 1 /, announced({ flags: FLAG.read })],
  ['an unknown flag', /ERR_WIRE_FRAME/, announced({ flags: 8 })],
  [
    'the same announcement twice',
    /ERR_WIRE_STATE.*due are 1/,
    (one, digest) => {
      one.send(MATCH.ANNOUNCE, first(digest));
      one.send(MATCH.ANNOUNCE, first(digest));
    },
  ],
  ['a digest of other chunks', /ERR_WIRE_STATE.*digest/, planned({}, { digest: 1 })],
  ['another chunk size', /ERR_WIRE_STATE.*chunks of 4096/, planned({ chunkBytes: 4096 })],
  ['more channels than are joined', /ERR_WIRE_STATE.*2 channels/, planned({ weights: [1, 1] })],
  ['weights of zero', /ERR_WIRE_/, planned({ weights: [0] }, { digest: 0 })],
  ['a slot beyond the last', /ERR_WIRE_/, planned({}, { plan: 64 })],
  ['GO for nothing', /ERR_WIRE_STATE.*GO/, (one) => one.send(MATCH.GO, { transfer: 3 })],
  [
    'GO for a READ that is not paced',
    /ERR_WIRE_STATE.*GO/,
    (one) => {
      one.send(MATCH.READ, { transfer: 2, plan: 0 });
      one.send(MATCH.GO, { transfer: 2, flags: FLAG.read });
    },
  ],
  [
    'LANDED for nothing',
    /ERR_WIRE_STATE.*to land/,
    (one) => {
      one.send(MATCH.LANDED, { transfer: 3, tag: 1 });
    },
  ],
  [
    'LANDED before the end',
    /ERR_WIRE_STATE.*up to tag 1, not/,
    (one) => {
      one.send(MATCH.READ, { transfer: 2, plan: 0 });
      one.send(MATCH.LANDED, { transfer: 2, flags: FLAG.read, tag: 1 });
    },
  ],
  ['HELLO again', /ERR_WIRE_STATE/, (one) => one.send(MATCH.HELLO, {}, Buffer.alloc(0))],
  [
    'a READ with a body',
    /ERR_WIRE_/,
    (one) => {
      one.send(MATCH.READ, { transfer: 2, plan: 0 }, Buffer.alloc(1));
    },
  ],
];

test('page peer: a frame that breaks a rule of matched transfers ends the session', async () => {
  for (const [name, rule, act] of BROKEN) {
    const one = await MatchPeer.open();
    const digest = one.plan(0, planFor(target));
    act(one, digest);
    assert.match(await one.goodbye(), rule, name);
    one.peer.close();
  }
});

test('page peer: a READ never taken ends with its epoch and leaves the region', async () => {
  const one = await MatchPeer.open();
  one.plan(0, planFor(source));
  const startMs = performance.now();
  one.send(MATCH.READ, { transfer: 1, plan: 0 });
  await one.due(MATCH.ANNOUNCE, 1, FLAG.read);
  const down = await one.due(MATCH.DOWN);
  const tookMs = performance.now() - startMs;
  assert.equal(textsOf(down.body)[0], 'ERR_PEER_TIMEOUT');
  assert.ok(tookMs > PATIENCE_MS, `${tookMs} ms`);
  one.send(MATCH.FENCED, {}, textsBody('', ''));
  // Nobody is in a region any more, whatever was tried above.
  await engine.deregister(source.region, 5000);
  await engine.deregister(target.region, 5000);
  one.peer.close();
});
