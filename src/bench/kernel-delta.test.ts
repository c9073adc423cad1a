import assert from 'node:assert/strict';
import { test } from 'node:test';
import { channelDelta, kernelDelta, readKernelCounters, stolenPart } from './kernel-delta.js';

const STANDING = {
  channel: 0,
  nic: 'eth0',
  epoch: 0,
  retransmits: 3,
  bytesAcked: 100,
  bytesReceived: 10,
  busyUs: 50,
  receiveLimitedUs: 5,
  sendBufferLimitedUs: -1,
  rttUs: 80,
  rttMinUs: 20,
  congestionWindow: 10,
  deliveryBytesPerSecond: 1000,
};

test('channel delta: counters are what grew, the rest is as it stands', () => {
  const after = { ...STANDING, retransmits: 4, bytesAcked: 350, busyUs: 90, rttUs: 70 };
  const [delta] = channelDelta([STANDING], [after]);
  assert.ok(delta !== undefined);
  assert.equal(delta.retransmits, 1);
  assert.equal(delta.bytesAcked, 250);
  assert.equal(delta.busyUs, 40);
  assert.equal(delta.sendBufferLimitedUs, -1, 'not counted by an old kernel');
  assert.deepEqual([delta.rttUs, delta.congestionWindow], [70, 10]);
});

test('channel delta: a connection that came during the run has counted from 0', () => {
  const after = { ...STANDING, epoch: 1, bytesAcked: 40 };
  assert.equal(channelDelta([STANDING], [after])[0]?.bytesAcked, 40);
});

test('kernel delta: what grew, by name; an interface that stood still is left out', () => {
  const before = {
    tcp: { RetransSegs: 5, InErrs: 1 },
    nics: new Map([
      ['eth0', { rx_bytes: 10 }],
      ['lo', { rx_bytes: 7 }],
    ]),
  };
  const after = {
    tcp: { RetransSegs: 9, InErrs: 1 },
    nics: new Map([
      ['eth0', { rx_bytes: 30 }],
      ['lo', { rx_bytes: 7 }],
    ]),
  };
  const { tcp, nics } = kernelDelta(before, after);
  assert.equal(tcp['RetransSegs'], 4);
  assert.equal(tcp['InErrs'], 0);
  assert.deepEqual(nics, { eth0: { rx_bytes: 20 } });
});

test('kernel delta: this kernel names its counters', () => {
  const counters = readKernelCounters();
  assert.equal(typeof counters.tcp['RetransSegs'], 'number');
  assert.ok(counters.nics.has('lo'));
});

test('stolen time: its part of all, and unknown of a moment', () => {
  const cpu = (stealTicks: number, totalTicks: number) => {
    return { cpu: 0, busyTicks: 0, irqTicks: 0, softirqTicks: 0, stealTicks, totalTicks };
  };
  const before = [cpu(10, 1000), cpu(0, 1000)];
  assert.deepEqual(stolenPart(before, [cpu(20, 1100), cpu(0, 1100)]), { stolen: 0.05 });
  assert.deepEqual(stolenPart(before, [cpu(12, 1004), cpu(0, 1004)]), {});
  assert.deepEqual(stolenPart([], []), {});
});
