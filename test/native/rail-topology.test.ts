// Rails by topology, over the emulator with the GPU–NIC map of A3 High: which process serves which
// NIC with which GPU, with no flag at all, and what is refused before the plugin is asked.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import {
  closeRails,
  failureOf,
  makeRails,
  moveChecked,
  openRailPair,
  type RailSide,
} from './rail-pair.js';

after(closeRails);

const A3_HIGH = new Map([
  ['eth0', []],
  ['eth1', [0, 1]],
  ['eth2', [2, 3]],
  ['eth3', [4, 5]],
  ['eth4', [6, 7]],
]);
const A3_HIGH_TEXT = [...A3_HIGH]
  .flatMap(([nic, gpus]) => gpus.map((gpu) => `${gpu}=${nic}`))
  .join();

function a3High(gpu: number | undefined, nics = ''): RailSide {
  return {
    settings: { 'session.nics': nics },
    plugin: { TCPX_EMU_GPU_NICS: A3_HIGH_TEXT },
    options: { nicGpus: A3_HIGH, ...(gpu === undefined ? {} : { gpu }) },
  };
}

async function moveOverAll(side: RailSide): Promise<string> {
  const pair = await openRailPair(side);
  for (const index of pair.sender.channels.keys()) await moveChecked(pair, index);
  const rails = pair.sender.rails.set.rails.map(({ nic, gpu }) => `${nic}=${gpu}`).join();
  await closeRails();
  return rails;
}

describe('rails of A3 High', () => {
  for (let gpu = 0; gpu < 8; gpu++) {
    test(`rails of A3 High: GPU ${gpu} takes its own NIC, without a flag`, async () => {
      assert.equal(await moveOverAll(a3High(gpu)), `eth${Math.floor(gpu / 2) + 1}=${gpu}`);
    });
  }

  test('rails of A3 High: four NICs for one GPU, each with a GPU that is behind it', async () => {
    const rails = await moveOverAll(a3High(5, 'eth1,eth2,eth3,eth4'));
    assert.equal(rails, 'eth1=0,eth2=2,eth3=5,eth4=6');
  });

  test('rails of A3 High: every NIC that has a GPU, where none is meant', async () => {
    assert.equal(await moveOverAll(a3High(undefined)), 'eth1=0,eth2=2,eth3=4,eth4=6');
  });

  test('rails of A3 High: a NIC far from the GPU is refused, no process is started', async () => {
    for (const [gpu, nics] of [
      [0, 'eth2'],
      [7, 'eth1,eth2,eth3'],
      [0, 'eth0'],
    ] as const) {
      const { set } = makeRails(a3High(gpu, nics));
      const error = await failureOf(set.open());
      assert.equal(error.code, 'ERR_CONFIG_CONFLICT');
      assert.match(error.message, /behind .*PCI tree .*--rail-gpus/);
      assert.equal(set.starts, 0, 'the plugin was not asked');
    }
  });

  test('rails of A3 High: by hand the far pair is taken, and the plugin ends over it', async () => {
    const side = a3High(0, 'eth2');
    const settings = { ...side.settings, 'tcpx.railGpus': 'eth2=0' };
    const pair = await openRailPair({ ...side, settings });
    assert.match((await failureOf(moveChecked(pair))).message, /rx no cmsg/);
  });
});

test('rails: a peer on this host is refused before the plugin dies of it', async () => {
  const plugin = { TCPX_EMU_SAME_HOST: '0' };
  const error = await failureOf(openRailPair({ plugin }));
  assert.equal(error.code, 'ERR_PEER_SAME_HOST');
  assert.match(error.message, /eth1: the peer is on this host \(127\.0\.0\.11 /);
  const hostRecv = await openRailPair({ plugin, settings: { 'tcpx.hostRecv': true } });
  await moveChecked(hostRecv);
});
