import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { a3HighSpec } from '../../../test/support/a3-high-host.js';
import { openFixture, openFixtureTree } from '../../../test/support/open-fixture.js';
import { removeTreeFolder, writeTreeFolder } from '../../../test/support/tree-folder.js';
import { isTcpxError } from '../../base/errors.js';
import type { FileTree } from '../read/file-tree.js';
import type { HostModel } from '../read/model.js';
import { openHost } from '../read/open-host.js';
import { readHost } from '../read/read-host.js';
import { captureFileName, captureHost, packCapture, unpackCapture } from './capture.js';

const NOON = new Date('2025-01-31T12:00:05Z');

/** The model as JSON, without what tells where it was read and by which way. */
function comparable(model: HostModel): unknown {
  const nics = model.nics.map((nic) => ({
    ...nic,
    ethtool: nic.ethtool === undefined ? undefined : { ...nic.ethtool, source: 'any' },
  }));
  return JSON.parse(JSON.stringify({ ...model, nics, root: '', isLive: false })) as unknown;
}

function roundTrip(tree: FileTree): HostModel {
  return readHost(openFixtureTree(unpackCapture(packCapture(tree, NOON), 'test')));
}

test('capture: the A3-high tree read back from its capture is the same', () => {
  const { model, tree } = captureHost(openFixture(a3HighSpec()), NOON);
  assert.deepEqual(comparable(roundTrip(tree)), comparable(model));
  // Lies beside files that are read, and no reader reads it.
  assert.equal(tree.has('/proc/stat'), false);
});

test('capture: this machine read back from its capture is the same', () => {
  const { model, tree } = captureHost(openHost('/'), NOON);
  assert.deepEqual(comparable(roundTrip(tree)), comparable(model));
});

test('capture: unpacked into a folder it reads the same', () => {
  const { model, tree } = captureHost(openFixture(a3HighSpec()), NOON);
  const folder = writeTreeFolder(tree);
  try {
    assert.deepEqual(comparable(readHost(openHost(folder))), comparable(model));
    const file = join(folder, 'again.tgz');
    writeFileSync(file, packCapture(tree, NOON));
    assert.deepEqual(comparable(readHost(openHost(file))), comparable(model));
  } finally {
    removeTreeFolder(folder);
  }
});

test('capture: of the processes only writers of affinity are kept', () => {
  const spec = {
    ...a3HighSpec(),
    processes: [
      { pid: 7, comm: 'secret-app', cmdline: ['secret-app', '--password=x'] },
      { pid: 9, comm: 'irqbalance', cmdline: ['/usr/sbin/irqbalance', '--banirq=112'] },
    ],
  };
  const { model, tree } = captureHost(openFixture(spec), NOON);
  assert.deepEqual(
    model.writers.map(({ kind, pid, options }) => [kind, pid, options]),
    [['irqbalance', 9, ['--banirq=112']]],
  );
  assert.ok([...tree.keys()].every((path) => !path.startsWith('/proc/7')));
  assert.ok(tree.has('/proc/9/comm'));
});

test('capture: its name carries host and time, and a damaged one is refused', () => {
  assert.equal(captureFileName('node-0', NOON), 'tcpx-host-node-0-20250131-120005.tgz');
  assert.equal(captureFileName('a/b', NOON), 'tcpx-host-a_b-20250131-120005.tgz');
  assert.throws(
    () => unpackCapture(Buffer.from('no archive'), 'x.tgz'),
    (error) => isTcpxError(error, 'ERR_USAGE_ARGUMENT'),
  );
});
