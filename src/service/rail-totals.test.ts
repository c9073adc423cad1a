import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RailTotals } from './rail-totals.js';

const channel = (nic: string, bytes: number) => ({ channel: 0, nic, bytes, chunks: 1 });

test('rail totals: by NIC and provider; a transfer counts once on each NIC', () => {
  const totals = new RailTotals();
  const both = [channel('eth1', 10), channel('eth1', 5), channel('eth2', 7), channel('eth3', 0)];
  totals.add({ provider: 'tcpx', channels: both });
  totals.add({ provider: 'tcp', channels: [channel('eth1', 1)] });
  totals.add({ provider: 'tcpx', channels: [channel('eth1', 1)] });
  assert.deepEqual(totals.list(), [
    { nic: 'eth1', provider: 'tcpx', bytes: 16, transfers: 2 },
    { nic: 'eth2', provider: 'tcpx', bytes: 7, transfers: 1 },
    { nic: 'eth1', provider: 'tcp', bytes: 1, transfers: 1 },
  ]);
});
