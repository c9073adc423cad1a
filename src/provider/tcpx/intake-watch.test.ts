import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IntakeWatch, unjudged } from './intake-watch.js';

function openWatch() {
  const nics = {
    bytes: new Map([['eth1', 0]]),
    packets: new Map([['eth1', 0]]),
    nowMs: 0,
    looks: 0,
  };
  const source = {
    receivedBytes: () => new Map(nics.bytes),
    devmemPackets: () => {
      nics.looks++;
      return nics.packets;
    },
    nowMs: () => nics.nowMs,
  };
  return { nics, watch: new IntakeWatch(source, false) };
}

test('intake: a transfer is judged since the look before it, NIC by NIC', () => {
  const { nics, watch } = openWatch();
  nics.bytes.set('eth2', 0);
  nics.packets.set('eth2', 7);
  const mark = watch.mark();
  nics.bytes.set('eth1', 4096).set('eth2', 4096);
  nics.packets.set('eth1', 3);
  const verdict = watch.judge(mark);
  assert.equal(verdict.verdict, 'failed');
  assert.deepEqual(
    verdict.nics.map(({ nic, packets, verdict: one }) => [nic, packets, one]),
    [
      ['eth1', 3, 'good'],
      ['eth2', 0, 'failed'],
    ],
  );
});

test('intake: a NIC that does not count is unknown, neither good nor bad', () => {
  const { nics, watch } = openWatch();
  nics.packets.clear();
  const mark = watch.mark();
  nics.bytes.set('eth1', 4096);
  assert.deepEqual(watch.judge(mark), {
    verdict: 'unknown',
    packets: -1,
    reason: 'eth1: no rx_devmem_pkts',
    nics: [
      { nic: 'eth1', bytes: 4096, packets: -1, verdict: 'unknown', reason: 'no rx_devmem_pkts' },
    ],
  });
});

test('intake: receipts that follow soon make no look, and say that they did not', () => {
  const { nics, watch } = openWatch();
  const first = watch.mark();
  watch.judge(first);
  const looks = nics.looks;
  nics.bytes.set('eth1', 4096);
  for (nics.nowMs = 1; nics.nowMs < 100; nics.nowMs++) {
    const verdict = watch.judge(watch.mark());
    assert.equal(verdict.verdict, 'unknown');
    assert.match(verdict.reason, /every 100 ms at most/);
  }
  assert.equal(nics.looks, looks);
  // The next look judges all that has come in since the last one.
  assert.equal(watch.judge(watch.mark()).nics[0]?.bytes, 4096);
});

test('intake: not judged is unknown for each NIC', () => {
  const { verdict, nics } = unjudged([{ nic: 'eth1' }, { nic: 'eth2' }], 'elsewhere');
  assert.equal(verdict, 'unknown');
  assert.deepEqual(
    nics.map((one) => [one.nic, one.verdict, one.reason]),
    [
      ['eth1', 'unknown', 'elsewhere'],
      ['eth2', 'unknown', 'elsewhere'],
    ],
  );
});
