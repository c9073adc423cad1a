// Receipts of single transfers say, NIC by NIC, whether data came through device memory.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  closeProviders,
  makeMemory,
  openPair,
  type TcpxPair,
  temporaryFolder,
  wholeBlock,
} from './tcpx-pair.js';

after(closeProviders);

const BYTES = 1024 * 1024;
const NICS = { 'session.nics': 'eth1,eth2', 'flow.channels': 2 } as const;
/** Longer than receipts wait between two looks at the NICs. */
const PAUSE_MS = 150;

function blocksOf(pair: TcpxPair) {
  return wholeBlock(makeMemory(pair.initiator, BYTES), makeMemory(pair.target, BYTES));
}

test('tcpx receipt: a READ names the device-memory packets of each NIC', async () => {
  const plugin = { TCPX_EMU_STATE_DIR: temporaryFolder() };
  const pair = await openPair({ settings: NICS, plugin });
  const blocks = blocksOf(pair);
  for (let count = 0; count < 2; count++) {
    const { plugin: receipt } = await pair.session.read(blocks).done;
    assert.equal(receipt?.devmem.verdict, 'good', receipt?.devmem.reason);
    assert.deepEqual(
      receipt.devmem.nics.map(({ nic, verdict, bytes }) => [nic, verdict, bytes]),
      [
        ['eth1', 'good', BYTES / 2],
        ['eth2', 'good', BYTES / 2],
      ],
    );
    for (const { packets } of receipt.devmem.nics) assert.ok(packets > 0);
    await sleep(PAUSE_MS);
  }
  await pair.close();
});

test('tcpx receipt: what nobody counts, or the peer receives, is unknown', async () => {
  const pair = await openPair({ settings: NICS });
  const blocks = blocksOf(pair);
  const read = await pair.session.read(blocks).done;
  const written = await pair.session.write(blocks).done;
  for (const [receipt, reason] of [
    [read, /eth1: no rx_devmem_pkts; eth2: no rx_devmem_pkts/],
    [written, /the peer’s NICs/],
  ] as const) {
    const devmem = receipt.plugin?.devmem;
    assert.equal(devmem?.verdict, 'unknown');
    assert.equal(devmem.packets, -1);
    assert.match(devmem.reason, reason);
    assert.deepEqual(
      devmem.nics.map(({ nic, verdict }) => [nic, verdict]),
      [
        ['eth1', 'unknown'],
        ['eth2', 'unknown'],
      ],
    );
  }
  await pair.close();
});
