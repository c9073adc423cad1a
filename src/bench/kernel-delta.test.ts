import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kernelDelta, readKernelCounters } from './kernel-delta.js';

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
