import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { withCode } from '../../../test/support/expect-error.js';
import { currentCpu, getThreadAffinity, setThreadAffinity } from './cpu-affinity.js';

const allowed = getThreadAffinity();
afterEach(() => setThreadAffinity(allowed));

test('affinity: the allowed CPUs are ascending and hold the current one', () => {
  assert.ok(allowed.length > 0);
  assert.deepEqual(
    allowed,
    [...allowed].sort((a, b) => a - b),
  );
  assert.ok(allowed.includes(currentCpu()));
});

test('affinity: a pinned thread runs there, each CPU in turn', () => {
  for (const cpu of allowed) {
    setThreadAffinity([cpu]);
    assert.deepEqual(getThreadAffinity(), [cpu]);
    assert.equal(currentCpu(), cpu);
  }
});

test('affinity: no CPU, or none that exists, is EINVAL and changes nothing', () => {
  assert.throws(() => setThreadAffinity([]), withCode('ERR_SYS_CALL', /EINVAL/));
  assert.throws(() => setThreadAffinity([8000]), withCode('ERR_SYS_CALL', /cpus 8000/));
  assert.deepEqual(getThreadAffinity(), allowed);
});

test('affinity: a thread that does not exist is ESRCH', () => {
  assert.throws(() => getThreadAffinity(0x3fffffff), withCode('ERR_SYS_CALL', /ESRCH/));
});
