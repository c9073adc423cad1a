import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { emulatedNics, parseStatistics, readEmulatedStatistics } from './emulated-nics.js';

const TEXT = 'NIC statistics:\n     rx_packets: 12\n     rx_devmem_pkts: 7\n';

test('emulated NICs: statistics as `ethtool -S` writes them', () => {
  assert.deepEqual(parseStatistics(TEXT), { rx_packets: 12, rx_devmem_pkts: 7 });
  assert.deepEqual(parseStatistics('no numbers: here\n'), {});
});

test('emulated NICs: those with a file are found, others read zero, or nothing', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-emulated-'));
  try {
    writeFileSync(join(folder, 'eth2.stats'), TEXT);
    writeFileSync(join(folder, 'eth2.sockets'), '12 1\n');
    assert.deepEqual(emulatedNics(folder), ['eth2']);
    assert.deepEqual(emulatedNics(join(folder, 'none')), []);
    assert.equal(readEmulatedStatistics(folder, 'eth2')['rx_devmem_pkts'], 7);
    assert.equal(readEmulatedStatistics(folder, 'eth2')['tx_bytes'], 0);
    assert.equal(readEmulatedStatistics(folder, 'eth1')['rx_devmem_pkts'], 0);
    assert.deepEqual(readEmulatedStatistics(join(folder, 'none'), 'eth2'), {});
    mkdirSync(join(folder, 'eth3.stats'));
    assert.deepEqual(readEmulatedStatistics(folder, 'eth3'), {}, 'what cannot be read');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
