// A control connection that dies without a word: kernels notice, and the client attaches another.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { breakAlone, silenceControl } from '../../test/support/connection-accident.js';
import { closeEngines, KeptLog, openEngine } from '../../test/support/engine-pair.js';
import { until } from '../../test/support/until.js';
import { sleepMs } from '../base/clock.js';
import type { LiveSession } from './live-session.js';
import { liveSession } from './session-face.js';

after(closeEngines);

/** The shortest that can be set: noticed after one to two seconds. */
const SETTINGS = { 'session.controlTimeoutMs': 1000, 'flow.channels': 2 } as const;
const NOTICED_MS = 3000;
const BACK = /control connection is back/;

async function openBoth() {
  const logs = { server: new KeptLog(), client: new KeptLog() };
  const heard: string[] = [];
  let atServer: LiveSession | undefined;
  const server = await openEngine(SETTINGS, {
    log: logs.server.log,
    onSession: (session) => (atServer = liveSession(session)),
  });
  const client = await openEngine(SETTINGS, {
    log: logs.client.log,
    onNotification: ({ bytes }) => heard.push(new TextDecoder().decode(bytes)),
  });
  const port = server.listen({ host: '127.0.0.1', port: 0 });
  const atClient = liveSession(await client.connect('127.0.0.1', port));
  await until('the session at the server', NOTICED_MS, () => atServer !== undefined);
  if (atServer === undefined) throw new Error('no session');
  // Until nothing is on its way any more that a kernel would send again.
  await sleepMs(300);
  const close = (): Promise<unknown> => Promise.all([client.close(), server.close()]);
  return { server, client, atClient, atServer, logs, heard, close };
}

test('control: silent while idle, noticed by the kernels and attached anew', async () => {
  const { atClient, atServer, logs, close } = await openBoth();
  silenceControl(atClient.face, atServer.face);
  await until(
    'both have a new one',
    NOTICED_MS,
    () => logs.client.has(BACK) && logs.server.has(BACK),
  );
  assert.ok(atClient.control.isOpen && atServer.control.isOpen);
  assert.equal(atClient.recovery.failovers + atServer.recovery.failovers, 0);
  await atServer.close();
  await until('the goodbye is heard over it', NOTICED_MS, () => atClient.isEnding());
  assert.equal(atClient.error?.code, 'ERR_PEER_GOODBYE');
  await close();
});

test('control: silent while transfers run, none of them suffers', async () => {
  const { server, client, atClient, atServer, logs, close } = await openBoth();
  const bytes = 1024 * 1024;
  const local = client.register(new Uint8Array(client.allocate(bytes).buffer).fill(7));
  const target = new Uint8Array(server.allocate(bytes).buffer);
  const remote = server.register(target).descriptor;
  const block = { local, localOffset: 0, remote, remoteOffset: 0, bytes };
  silenceControl(atClient.face, atServer.face);
  let count = 0;
  for (; !logs.client.has(BACK) || !logs.server.has(BACK); count++) {
    assert.ok(count < 1e5, 'it comes back while transfers run');
    await atClient.write([block]).done;
    if (count % 64 === 0) await sleepMs(1);
  }
  assert.ok(count > 10, `${count} transfers meanwhile`);
  assert.equal(target.indexOf(0), -1);
  assert.equal(atClient.recovery.failovers + atServer.recovery.failovers, 0);
  await close();
});

test('control: a thread that is busy for seconds at both ends is no reason for alarm', async () => {
  const { atClient, atServer, logs, close } = await openBoth();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2500);
  await sleepMs(200);
  for (const log of [logs.client, logs.server]) assert.ok(!log.has(/control connection lost/));
  assert.deepEqual([atClient.state, atServer.state], ['ready', 'ready']);
  await close();
});

test('control: an idle client notices that its server has lost every connection', async () => {
  const { atClient, atServer, logs, heard, close } = await openBoth();
  await breakAlone(atServer.face, atClient.face, async () => {
    await until(
      'the server knows',
      NOTICED_MS,
      () =>
        logs.server.has(/channel down.*channel=1/) && logs.server.has(/control connection lost/),
    );
  });
  assert.ok(!logs.client.has(/lost|down/), 'the client does not');
  const sent = atServer.notify('still here');
  await sent.done;
  await until('a message over a new connection', NOTICED_MS, () => heard.length === 1);
  assert.deepEqual([atClient.state, atServer.state], ['ready', 'ready']);
  await until('every channel is back', NOTICED_MS, () => atServer.recovery.book.isWhole);
  await close();
});
