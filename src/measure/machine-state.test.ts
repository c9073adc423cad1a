import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatMachine, measureMachine } from './machine-state.js';

test('machine state: every figure is one, and cached memory is copied faster', async () => {
  const { coreToCoreNs, coldCopyGBps, warmCopyGBps } = await measureMachine();
  assert.ok(coreToCoreNs > 1 && coreToCoreNs < 1e9, `${coreToCoreNs} ns`);
  assert.ok(coldCopyGBps > 0.01, `${coldCopyGBps} GB/s`);
  assert.ok(warmCopyGBps > coldCopyGBps, `${warmCopyGBps}, ${coldCopyGBps} GB/s`);
});

test('machine state: one figure where there is one', () => {
  const state = { coreToCoreNs: 52.4, coldCopyGBps: 9.61, warmCopyGBps: 33 };
  assert.equal(
    formatMachine([state]),
    'core to core 52 ns; one core copies 9.6 GB/s of 64 MiB, 33.0 of 128 KiB',
  );
});

test('machine state: least to most of what was seen', () => {
  const states = [
    { coreToCoreNs: 52.4, coldCopyGBps: 9.61, warmCopyGBps: 33 },
    { coreToCoreNs: 245, coldCopyGBps: 12.3, warmCopyGBps: 35.2 },
  ];
  assert.equal(
    formatMachine(states),
    'core to core 52 … 245 ns; one core copies 9.6 … 12.3 GB/s of 64 MiB, 33.0 … 35.2 of 128 KiB',
  );
});
