import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { openEthtoolSocket } from '../../ffi/ethtool.js';
import { readEthtool } from './ethtool-reader.js';
import * as requests from './ethtool-requests.js';
import { openHost } from './open-host.js';
import { readHost } from './read-host.js';

const words = (...values: number[]) => new Uint32Array(values).buffer;

test('ethtool: fixed answers are read at the kernel’s offsets', () => {
  assert.deepEqual(requests.decodeChannels(words(0x3c, 16, 16, 0, 0, 12, 14, 1, 0)), {
    rxMax: 16,
    txMax: 16,
    combinedMax: 0,
    rx: 12,
    tx: 14,
    other: 1,
    combined: 0,
  });
  const rings = requests.decodeRings(words(0x10, 4096, 0, 0, 2048, 1024, 0, 0, 512));
  assert.deepEqual([rings.rxMax, rings.txMax, rings.rx, rings.tx], [4096, 2048, 1024, 512]);
  const coalesce = words(0x0e, 20, 8, 0, 0, 50, 9, 0, 0, 0, 1, 0);
  assert.deepEqual(requests.decodeCoalesce(coalesce), {
    rxUsecs: 20,
    rxFrames: 8,
    txUsecs: 50,
    txFrames: 9,
    isAdaptiveRx: true,
    isAdaptiveTx: false,
  });
});

test('ethtool: driver names end at their zero byte', () => {
  const memory = requests.fixedRequest(
    requests.EthtoolCommand.DriverInfo,
    requests.DRIVER_INFO_BYTES,
  );
  const bytes = Buffer.from(memory);
  bytes.write('gve\0junk', 4);
  bytes.write('0000:06:00.0', 100);
  const info = requests.decodeDriverInfo(memory);
  assert.deepEqual([info.driver, info.busInfo, info.version], ['gve', '0000:06:00.0', '']);
});

test('ethtool: statistics keep 64 bits as far as a Number holds them', () => {
  const memory = requests.statisticsRequest(3);
  const view = new DataView(memory);
  view.setBigUint64(8, 265_996_882_302n, true);
  view.setBigUint64(16, 9_007_199_254_740_991n, true);
  view.setBigUint64(24, 5n, true);
  assert.deepEqual(requests.decodeStatistics(memory, ['rx_bytes', 'big', '']), {
    rx_bytes: 265_996_882_302,
    big: Number.MAX_SAFE_INTEGER,
  });
});

test('ethtool: room is left for queues that appear between two calls', () => {
  const slack = requests.statisticsRequest(10).byteLength - (8 + 10 * 8);
  assert.ok(slack >= 1000 * 8, `${slack} bytes`);
});

test('ethtool: feature bits beyond the first block', () => {
  const names = Array.from({ length: 34 }, (_, index) => `f${index}`);
  const memory = requests.featuresRequest(names.length);
  const view = new DataView(memory);
  view.setUint32(8, 0b01, true); // available: f0
  view.setUint32(16, 0b10, true); // active: f1
  view.setUint32(24 + 8, 0b10, true); // second block, active: f33
  const features = requests.decodeFeatures(memory, names);
  assert.deepEqual(features['f0'], { isActive: false, isFixed: false });
  assert.deepEqual(features['f1'], { isActive: true, isFixed: true });
  assert.deepEqual(features['f33'], { isActive: true, isFixed: true });
});

test('ethtool: private flags and link settings', () => {
  assert.deepEqual(requests.decodePrivateFlags(words(0x27, 0b101), ['a', 'b', 'c']), {
    a: true,
    b: false,
    c: true,
  });
  const first = requests.fixedRequest(
    requests.EthtoolCommand.LinkSettings,
    requests.LINK_SETTINGS_BYTES,
  );
  new DataView(first).setInt8(15, -3);
  const again = requests.linkSettingsAgain(first);
  assert.ok(again !== undefined);
  assert.equal(new DataView(again).getInt8(15), 3);
  const view = new DataView(again);
  view.setUint32(4, 200_000, true);
  view.setUint8(8, 1);
  assert.deepEqual(requests.decodeLink(again), {
    speedMbps: 200_000,
    duplex: 'full',
    isAutoNegotiated: false,
  });
  view.setInt32(4, -1, true);
  assert.equal(requests.decodeLink(again).speedMbps, undefined);
});

test('ethtool: a request for an interface that is not there is a gap', () => {
  const socket = openEthtoolSocket();
  assert.ok(typeof socket !== 'number');
  const data = readEthtool(socket, 'no-such-nic0', undefined);
  socket.close();
  assert.equal(data.driver, undefined);
  assert.ok(data.gaps.every(({ reason }) => reason === 'ENODEV'));
});

test('ethtool: our answers are those of the ethtool program', (t) => {
  const nic = readHost(openHost('/')).nics.find((candidate) => !candidate.isVirtual);
  const shown = spawnSync('ethtool', ['-i', nic?.name ?? 'none'], { encoding: 'utf8' });
  if (nic === undefined || shown.status !== 0) {
    t.skip('needs a physical NIC and the ethtool program');
    return;
  }
  assert.match(shown.stdout, new RegExp(`^driver: ${nic.ethtool?.driver?.driver ?? ''}$`, 'm'));
  assert.match(shown.stdout, new RegExp(`^bus-info: ${nic.ethtool?.driver?.busInfo ?? ''}$`, 'm'));
  const statistics = spawnSync('ethtool', ['-S', nic.name], { encoding: 'utf8' }).stdout;
  const names = [...statistics.matchAll(/^\s+(\S[^:]*): \d+$/gm)].map((match) => match[1]);
  assert.deepEqual(Object.keys(nic.ethtool?.statistics ?? {}), names);
});
