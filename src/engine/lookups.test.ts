import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import { TcpxError } from '../base/errors.js';
import { Timers } from '../base/timers.js';
import { RegionRegistry } from '../memory/region.js';
import { regionTableOver } from '../memory/region-table.js';
import { createFixedMemory } from '../os/fixed-memory.js';
import { ControlKind, type ControlMessage } from '../wire/control-frame.js';
import { Lookups } from './lookups.js';
import { RegionNames } from './region-names.js';

const RIGHTS = { read: true, write: true };
const ANSWER_MS = 1000;

class TwoEnds {
  readonly names = new RegionNames();
  readonly lookups: Lookups;
  readonly #timers = new Timers();
  nowUs = 0;
  isConnected = true;
  sent = 0;

  constructor() {
    this.lookups = new Lookups(
      {
        peer: 'the other',
        nowUs: () => this.nowUs,
        after: (delayMs, act) => this.#timers.at(this.nowUs + delayMs * 1000, act),
        send: (message) => this.#send(message),
      },
      ANSWER_MS,
    );
  }

  #send(message: ControlMessage): void {
    assert.equal(message.kind, ControlKind.Lookup);
    this.sent++;
    if (!this.isConnected) return;
    const answer = this.names.answer(message);
    this.#timers.at(this.nowUs + 1000, () => this.lookups.onFound(answer));
  }

  runTo(ms: number): void {
    for (; this.nowUs < ms * 1000; this.nowUs += 1000) this.#timers.run(this.nowUs);
  }
}

function someRegion(bytes = 100) {
  const registry = new RegionRegistry(regionTableOver(createFixedMemory(8192), 4096, 4));
  return registry.register(Buffer.alloc(bytes), RIGHTS);
}

test('lookup: a named region is found with its descriptor', async () => {
  const ends = new TwoEnds();
  const region = someRegion();
  ends.names.add('inbox', region);
  const asked = ends.lookups.ask('inbox', 0);
  ends.runTo(10);
  assert.deepEqual(await asked, region.descriptor);
});

test('lookup: an unknown name is refused at once, or when its time is over', async () => {
  const ends = new TwoEnds();
  const atOnce = assert.rejects(ends.lookups.ask('a', 0), withCode('ERR_PEER_NO_REGION', /"a"/));
  const later = assert.rejects(ends.lookups.ask('b', 300), withCode('ERR_PEER_NO_REGION'));
  ends.runTo(100);
  await atOnce;
  ends.runTo(400);
  await later;
});

test('lookup: a name that comes while somebody waits is found', async () => {
  const ends = new TwoEnds();
  const asked = ends.lookups.ask('late', 1000);
  ends.runTo(200);
  const region = someRegion();
  ends.names.add('late', region);
  ends.runTo(400);
  assert.equal((await asked).key, region.descriptor.key);
});

test('lookup: asked again after the control connection was replaced', async () => {
  const ends = new TwoEnds();
  const region = someRegion();
  ends.names.add('inbox', region);
  ends.isConnected = false;
  const asked = ends.lookups.ask('inbox', 0);
  ends.runTo(300);
  ends.isConnected = true;
  ends.runTo(600);
  assert.equal((await asked).key, region.descriptor.key);
});

test('lookup: a silent peer costs a bounded time and few frames', async () => {
  const ends = new TwoEnds();
  ends.isConnected = false;
  const refused = assert.rejects(ends.lookups.ask('x', 0), withCode('ERR_PEER_TIMEOUT'));
  ends.runTo(ANSWER_MS * 1.5);
  await refused;
  assert.ok(ends.sent <= 6, `${ends.sent}`);
});

test('lookup: the end of the session ends every question; 256 may wait', async () => {
  const ends = new TwoEnds();
  ends.isConnected = false;
  const asked = Array.from({ length: 256 }, (_, index) => ends.lookups.ask(`n${index}`, 0));
  const refused = asked.map((one) => assert.rejects(one, withCode('ERR_PEER_LOST')));
  await assert.rejects(ends.lookups.ask('one more', 0), withCode('ERR_USAGE_STATE', /256/));
  ends.lookups.fail(new TcpxError('ERR_PEER_LOST', 'gone'));
  await Promise.all(refused);
});

test('lookup: answers nobody asked for, and keys that are none', async () => {
  const ends = new TwoEnds();
  ends.lookups.onFound({ lookupId: 99, bytes: 5, region: 'tcpx-region/1 what' });
  ends.isConnected = false;
  const refused = assert.rejects(ends.lookups.ask('x', 0), withCode('ERR_WIRE_METADATA'));
  ends.lookups.onFound({ lookupId: 1, bytes: 5, region: 'tcpx-region/1 what' });
  await refused;
});

test('names: given once, gone with their region, and printable', () => {
  const names = new RegionNames();
  const region = someRegion();
  names.add('inbox', region);
  assert.throws(() => names.add('inbox', someRegion()), withCode('ERR_USAGE_STATE', /inbox/));
  for (const bad of ['', 'x'.repeat(256), 'a\nb']) {
    assert.throws(() => names.assertFree(bad), withCode('ERR_USAGE_ARGUMENT'));
  }
  names.remove(region);
  names.assertFree('inbox');
  const ask = { lookupId: 1, name: 'inbox' };
  assert.deepEqual(names.answer(ask), {
    kind: ControlKind.Found,
    lookupId: 1,
    bytes: 0,
    region: '',
  });
});
