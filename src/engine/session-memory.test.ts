// What an idle session costs in resident memory and descriptors, both ends together: bounds that
// docs/reliability.md states. Whoever makes channels dearer finds out here.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeEngines, openEngine } from '../../test/support/engine-pair.js';
import { openDescriptors } from '../../test/support/process-resources.js';

after(closeEngines);

const SESSIONS = 128;
const KIB = 1024;

for (const channels of [1, 4]) {
  test(`memory: an idle session of ${channels} channels stays within its bound`, async () => {
    const settings = { 'flow.channels': channels, 'session.peersMax': 1024 };
    const server = await openEngine(settings);
    const client = await openEngine(settings);
    const port = server.listen({ host: '127.0.0.1', port: 0 });
    const dial = async (count: number): Promise<void> => {
      for (let index = 0; index < count; index++) await client.connect('127.0.0.1', port);
    };
    // What every engine has once, and what the first sessions make the heaps grow by.
    await dial(32);
    const before = { bytes: process.memoryUsage.rss(), descriptors: openDescriptors() };
    await dial(SESSIONS);
    const each = (process.memoryUsage.rss() - before.bytes) / SESSIONS / 2;
    const boundBytes = (128 + 256 * channels) * KIB;
    assert.ok(each < boundBytes, `${Math.round(each / KIB)} KiB for each end of a session`);
    const descriptors = (openDescriptors() - before.descriptors) / SESSIONS;
    assert.equal(descriptors, 2 * (1 + channels), 'a socket for each connection, at both ends');
    await Promise.all([client.close(), server.close()]);
  });
}
