// Sending from registered regions: what the plugin refuses to register goes through the ring.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { SEND } from '../../src/provider/tcpx/host-layout.js';
import { closeRails, moveChecked, openRailPair } from './rail-pair.js';

after(closeRails);

const settings = { 'tcpx.sendFrom': 'region' } as const;
// No multiple of a page: the emulator refuses such lengths of device memory, as the driver does.
const ODD_BYTES = 300_001;

test('rail send-from region: lengths are rounded to pages as addresses are', async () => {
  const pair = await openRailPair({ settings }, {}, ODD_BYTES);
  await moveChecked(pair);
  const counters = pair.sender.channels[0]?.counters(SEND);
  assert.equal(counters?.ringChunks, 0, 'sent in place');
  assert.equal(counters.sendFallback, '');
});

test('rail send-from region: a refused registration falls back to the ring, by name', async () => {
  // Less than the region, more than the ring of twelve chunks of 4 KiB.
  const small = { ...settings, 'flow.chunkBytes': 4096 };
  const plugin = { TCPX_EMU_REGISTER_MAX_BYTES: '131072' };
  const pair = await openRailPair({ settings: small, plugin }, {}, ODD_BYTES);
  for (let transfer = 0; transfer < 3; transfer++) await moveChecked(pair, 0, 4000);
  const counters = pair.sender.channels[0]?.counters(SEND);
  assert.equal(counters?.ringChunks, 3);
  assert.match(counters.sendFallback, /regMr 303104 bytes.*internal error/);
  const warnings = pair.sender.rails.lines.filter((line) => line.includes('sent from the ring'));
  assert.equal(warnings.length, 1, 'said once');
});
