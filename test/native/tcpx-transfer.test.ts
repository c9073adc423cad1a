// The tcpx provider over the emulator: every byte checked, order, windows and counters.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { fillPattern, verifyPattern } from '../../src/memory/pattern.js';
import {
  closeProviders,
  makeMemory,
  openPair,
  type Settings,
  type TcpxPair,
  wholeBlock,
} from './tcpx-pair.js';

after(closeProviders);

const MIB = 1024 * 1024;

async function moveBoth(pair: TcpxPair, bytes: number, seed: number): Promise<void> {
  const local = await makeMemory(pair.initiator, bytes);
  const remote = await makeMemory(pair.target, bytes);
  fillPattern(local.bytes, seed, 0);
  const blocks = wholeBlock(local, remote);
  const written = await pair.session.write(blocks).done;
  assert.equal(written.bytes, bytes);
  assert.equal(written.evidence, 'emulated');
  assert.deepEqual(verifyPattern(remote.bytes, seed, 0), { count: 0, firstIndex: undefined });
  fillPattern(remote.bytes, seed + 1, 0);
  local.bytes.fill(0);
  await pair.session.read(blocks).done;
  assert.deepEqual(verifyPattern(local.bytes, seed + 1, 0), { count: 0, firstIndex: undefined });
  await pair.initiator.deregister(local.region);
  await pair.target.deregister(remote.region);
}

describe('tcpx: bytes arrive as sent, written and read', () => {
  test('tcpx: 1 byte to 64 MiB over one NIC', async () => {
    const pair = await openPair();
    let seed = 1;
    for (const bytes of [1, 4095, 4096, 4097, 524_287, 524_288, 524_289, 3 * MIB + 5, 64 * MIB]) {
      await moveBoth(pair, bytes, seed);
      seed += 2;
    }
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
});
