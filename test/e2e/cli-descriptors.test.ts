// A shell that allows too few open files: Node's own loader runs out of them first.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runChild } from './child.js';

for (const limit of [24, 30]) {
  test(`cli: ${limit} open files at most: one line with the remedy, exit 3`, async () => {
    const line = `ulimit -n ${limit}; exec ${process.execPath} bin/tcpx.js bench loopback`;
    const { exitCode, stdout, stderr } = await runChild('sh', ['-c', line]);
    assert.equal(exitCode, 3, stderr);
    assert.equal(stdout, '');
    assert.match(stderr, /^ERR_SYS_DESCRIPTORS: EMFILE: .*raise the limit \(ulimit -n 1024\)\n$/m);
    assert.doesNotMatch(stderr, /^ +at /m);
  });
}
