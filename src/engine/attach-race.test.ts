// What a server sends right behind ATTACHED may arrive together with it.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeEngines, openEngine } from '../../test/support/engine-pair.js';
import { sleepMs } from '../base/clock.js';
import type { PeerNotification } from './notification.js';

after(closeEngines);

for (const progress of ['caller', 'lanes'] as const) {
  test(`attach, ${progress}: a server that speaks at once is heard`, async () => {
    const heard: PeerNotification[] = [];
    const server = await openEngine(
      { 'lane.progress': progress, 'flow.channels': 2 },
      { onSession: (session) => void session.notify('welcome') },
    );
    const client = await openEngine(
      { 'lane.progress': progress },
      { onNotification: (notification) => heard.push(notification) },
    );
    const port = server.listen({ host: '127.0.0.1', port: 0 });
    for (let round = 1; round <= 20; round++) {
      const session = await server.drive(client.connect('127.0.0.1', port));
      for (let tries = 0; tries < 200 && heard.length < round; tries++) {
        await client.drive(server.drive(sleepMs(1)));
      }
      assert.equal(heard.length, round);
      assert.equal(session.state, 'ready');
      await client.drive(server.drive(session.close()));
    }
    await client.drive(server.drive(Promise.all([client.close(), server.close()])));
  });
}
