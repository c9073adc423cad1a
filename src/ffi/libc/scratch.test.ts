import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { releaseScratch, SCRATCH_BYTES, scratchAddr } from './scratch.js';

function isMapped(addr: number): boolean {
  return readFileSync('/proc/self/maps', 'utf8')
    .split('\n')
    .some((line) => {
      const [start = '0', end = '0'] = (line.split(' ')[0] ?? '').split('-');
      return Number.parseInt(start, 16) <= addr && addr < Number.parseInt(end, 16);
    });
}

test('scratch: what a thread needed for its calls is unmapped when it says that it ends', () => {
  assert.ok(isMapped(scratchAddr) && isMapped(scratchAddr + SCRATCH_BYTES - 1));
  releaseScratch();
  assert.ok(!isMapped(scratchAddr));
});
