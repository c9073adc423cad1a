// The tcpx provider over the emulator: every byte checked, order, windows and counters.

import assert from 'node:assert/strict';
import { freemem } from 'node:os';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fillPattern, verifyPattern } from '../../src/base/pattern.js';
import {
  closeProviders,
  epochsOf,
  makeMemory,
  openPair,
  type Settings,
  type TcpxPair,
  wholeBlock,
} from './tcpx-pair.js';

after(closeProviders);

const MIB = 1024 * 1024;

async function moveBoth(pair: TcpxPair, bytes: number, seed: number): Promise<void> {
  const local = makeMemory(pair.initiator, bytes);
  const remote = makeMemory(pair.target, bytes);
  fillPattern(local.bytes, seed, 0);
  const blocks = wholeBlock(local, remote);
  const written = await pair.session.write(blocks).done;
  assert.equal(written.bytes, bytes);
  assert.equal(written.plugin?.evidence, 'emulated');
  assert.deepEqual(verifyPattern(remote.bytes, seed, 0), { count: 0, firstIndex: undefined });
  fillPattern(remote.bytes, seed + 1, 0);
  local.bytes.fill(0);
  await pair.session.read(blocks).done;
  assert.deepEqual(verifyPattern(local.bytes, seed + 1, 0), { count: 0, firstIndex: undefined });
  await pair.initiator.deregister(local.region);
  await pair.target.deregister(remote.region);
}

// eslint-disable-next-line max-lines-per-function -- a list of tests
describe('tcpx: bytes arrive as sent, written and read', () => {
  test('tcpx: 1 byte to 64 MiB over one NIC', async () => {
    const pair = await openPair();
    let seed = 1;
    for (const bytes of [
      1,
      23,
      4095,
      4096,
      4097,
      524_287,
      524_288,
      524_289,
      3 * MIB + 5,
      64 * MIB,
    ]) {
      await moveBoth(pair, bytes, seed);
      seed += 2;
    }
    await pair.close();
  });

  for (const nicCount of [1, 2, 3, 4]) {
    for (const perNic of [1, 2]) {
      const name = `${nicCount} NICs × ${perNic} channels × 2 sockets`;
      test(`tcpx: ${name}: write, read and notify, 1 byte to 6 MiB`, async () => {
        const settings = {
          'session.nics': ['eth1', 'eth2', 'eth3', 'eth4'].slice(0, nicCount).join(','),
          'flow.channels': nicCount * perNic,
          'tcpx.sockets': 2,
        };
        const pair = await openPair({ settings });
        assert.equal(epochsOf(pair.session).set.count, nicCount * perNic);
        for (const bytes of [1, 524_289, 6 * MIB + 11]) await moveBoth(pair, bytes, bytes % 97);
        pair.session.notify('all of it');
        for (let tries = 0; pair.notifications.length === 0 && tries < 200; tries++) await sleep(5);
        assert.deepEqual(pair.notifications, ['all of it']);
        await pair.close();
      });
    }
  }

  test('tcpx: 1 GiB over four NICs, written and read', async (t) => {
    if (freemem() < 4 * 1024 * MIB) {
      t.skip('needs 4 GiB of free memory');
      return;
    }
    // Eight processes that fault in 1 GiB each may wait long for a core of a busy machine.
    const patience = { 'tcpx.hangMs': 20_000 };
    const settings = { 'session.nics': 'eth1,eth2,eth3,eth4', 'tcpx.sockets': 2, ...patience };
    const pair = await openPair({ settings });
    await moveBoth(pair, 1024 * MIB, 41);
    await pair.close();
  });

  const shapes: readonly (readonly [string, Settings])[] = [
    ['1 NIC × 2 channels × 2 sockets', { 'flow.channels': 2, 'tcpx.sockets': 2 }],
    ['2 NICs × 1 channel', { 'session.nics': 'eth1,eth2' }],
    ['3 NICs, one process', { 'session.nics': 'eth1,eth2,eth3', 'tcpx.processes': 'one' }],
    [
      '4 NICs × 2 channels × 2 sockets, a process per GPU',
      {
        'session.nics': 'eth1,eth2,eth3,eth4',
        'flow.channels': 8,
        'tcpx.sockets': 2,
        'tcpx.processes': 'gpu',
        'tcpx.railGpus': 'eth1=0,eth2=0,eth3=2,eth4=2',
      },
    ],
    ['sent from the region', { 'tcpx.sendFrom': 'region' }],
    ['sent from the ring', { 'tcpx.sendFrom': 'ring' }],
    ['host receives', { 'tcpx.hostRecv': true }],
    ['unpack d2d', { 'tcpx.unpack': 'd2d' }],
    ['unpack host', { 'tcpx.unpack': 'host' }],
    ['receiver announces first', { 'tcpx.pacing': 'ready' }],
    ['weights 3,1', { 'flow.channels': 2, 'tcpx.weights': '3,1' }],
    ['measured weights', { 'flow.channels': 2, 'tcpx.weights': 'measured' }],
  ];
  for (const [name, settings] of shapes) {
    test(`tcpx: ${name}`, async () => {
      const pair = await openPair({ settings });
      await moveBoth(pair, 5 * MIB + 3, 7);
      await moveBoth(pair, 9 * MIB + 1, 9);
      await pair.close();
    });
  }

  test('tcpx: fragments of random length at random places', async () => {
    const pair = await openPair({ plugin: { TCPX_EMU_FRAGMENTS: 'random', TCPX_EMU_SEED: '5' } });
    await moveBoth(pair, 4 * MIB + 5, 3);
    await pair.close();
  });

  /** Blocks of `bytes` each: at the target backwards, here with gaps or one behind the other. */
  async function moveBlocks(pair: TcpxPair, count: number, bytes: number, gap: number) {
    const local = makeMemory(pair.initiator, count * (bytes + gap));
    const remote = makeMemory(pair.target, count * (bytes + gap));
    const blocks = Array.from({ length: count }, (_, index) => ({
      local: local.region,
      localOffset: index * (bytes + gap),
      remote: remote.region.descriptor,
      remoteOffset: (count - 1 - index) * (bytes + gap),
      bytes,
    }));
    const assertMoved = (from: Uint8Array, to: Uint8Array, isWrite: boolean): void => {
      for (const { localOffset, remoteOffset } of blocks) {
        const [a, b] = isWrite ? [localOffset, remoteOffset] : [remoteOffset, localOffset];
        const isSame = Buffer.compare(from.subarray(a, a + bytes), to.subarray(b, b + bytes)) === 0;
        assert.ok(isSame, `block at ${localOffset}`);
        const behind = to.subarray(b + bytes, b + bytes + gap);
        assert.ok(
          behind.every((byte) => byte === 0x5a),
          'nothing beside the blocks',
        );
      }
    };
    fillPattern(local.bytes, 5, 0);
    remote.bytes.fill(0x5a);
    const written = await pair.session.write(blocks).done;
    assert.equal(written.bytes, count * bytes);
    assertMoved(local.bytes, remote.bytes, true);
    fillPattern(remote.bytes, 6, 0);
    local.bytes.fill(0x5a);
    await pair.session.read(blocks).done;
    assertMoved(remote.bytes, local.bytes, false);
    await pair.initiator.deregister(local.region);
    await pair.target.deregister(remote.region);
    return written;
  }

  const gathering: readonly (readonly [string, Settings])[] = [
    ['one channel', {}],
    ['two NICs', { 'session.nics': 'eth1,eth2', 'tcpx.sockets': 2 }],
    ['host receives', { 'tcpx.hostRecv': true }],
    ['unpack host', { 'tcpx.unpack': 'host' }],
    ['receiver announces first', { 'tcpx.pacing': 'ready' }],
  ];
  for (const [name, settings] of gathering) {
    test(`tcpx: small blocks share messages, ${name}`, async () => {
      const plugin = { TCPX_EMU_FRAGMENTS: 'random', TCPX_EMU_SEED: '9' };
      const pair = await openPair({ settings, plugin });
      const receipt = await moveBlocks(pair, 1000, 1000, 24);
      assert.equal(receipt.chunks, Math.ceil(1000 / Math.floor(524_288 / 1000)));
      await moveBlocks(pair, 700, 16_384, 0);
      await moveBlocks(pair, 40, 65_537, 3);
      await pair.close();
    });
  }

  test('tcpx: 10000 blocks of 16 KiB and 100000 of 1 KiB are a few hundred messages', async () => {
    const pair = await openPair();
    const large = await moveBlocks(pair, 10_000, 16_384, 0);
    assert.equal(large.chunks, Math.ceil(10_000 / 32));
    const many = await moveBlocks(pair, 100_000, 1024, 0);
    assert.equal(many.chunks, Math.ceil(100_000 / 512));
    await pair.close();
    const single = await openPair({ settings: { 'tcpx.gatherBytes': 0 } });
    const apart = await moveBlocks(single, 300, 1024, 0);
    assert.equal(apart.chunks, 300, 'not gathered when told so');
    await single.close();
  });

  test('tcpx: a refused gathered write is thrown away whole', async () => {
    const pair = await openPair();
    const local = makeMemory(pair.initiator, 4096);
    const remote = makeMemory(pair.target, 4096);
    const block = (remoteOffset: number) => ({
      local: local.region,
      localOffset: 0,
      // A descriptor that claims more than there is: the owner knows better.
      remote: { ...remote.region.descriptor, bytes: 8192 },
      remoteOffset,
      bytes: 100,
    });
    local.bytes.fill(7);
    const refused = pair.session.write([block(0), block(1000), block(4090)]).done;
    await assert.rejects(refused, /out of bounds, up to 4190/);
    assert.ok(remote.bytes.every((byte) => byte === 0));
    await pair.session.write([block(0), block(1000)]).done;
    assert.equal(remote.bytes.filter((byte) => byte === 7).length, 200);
    await pair.close();
  });
});
