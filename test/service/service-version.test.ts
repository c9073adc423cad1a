// The C library with a service of another version, played by a socket: a typed error within the
// time that an answer may take, whatever the answer looks like.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { SERVICE_VERSION } from '../../src/base/service-layout.js';
import { type ServiceStatusName, serviceStatus } from '../../src/base/service-status.js';
import { attachedAs, type FakeAnswer, FakeService } from './fake-service.js';
import { ServiceWorld } from './service-world.js';

const ANSWER_MS = 400;
/** For a machine with other work. */
const LATE_MS_MAX = 2000;
const world = new ServiceWorld();
after(() => world.close());

interface Case {
  readonly name: string;
  readonly answer: FakeAnswer | undefined;
  readonly status: ServiceStatusName;
  readonly text: RegExp;
}

const other = new RegExp(`^the service speaks another version than ${SERVICE_VERSION}$`);
const CASES: readonly Case[] = [
  {
    name: 'of a version to come',
    answer: { payload: attachedAs({ version: SERVICE_VERSION + 1 }) },
    status: 'ERR_VERSION',
    text: other,
  },
  {
    name: 'of an older version',
    answer: { payload: attachedAs({ version: SERVICE_VERSION - 1 }) },
    status: 'ERR_VERSION',
    text: other,
  },
  {
    name: 'of this version with a shorter answer',
    answer: { payload: attachedAs().subarray(0, 24) },
    status: 'ERR_VERSION',
    text: other,
  },
  {
    name: 'of a version with a longer answer',
    answer: { payload: Buffer.concat([attachedAs({ version: 9 }), Buffer.alloc(16_000)]) },
    status: 'ERR_VERSION',
    text: other,
  },
  {
    name: 'that refuses this version',
    answer: {
      status: serviceStatus('ERR_VERSION'),
      payload: Buffer.from('attach: the library speaks version 3, this service 4'),
    },
    status: 'ERR_VERSION',
    text: /^attach: the library speaks version 3, this service 4$/,
  },
  {
    name: 'that passes no memory',
    answer: { payload: attachedAs() },
    status: 'ERR_VERSION',
    text: /^the service sent no shared memory$/,
  },
  {
    name: 'that says nothing',
    answer: undefined,
    status: 'ERR_SERVICE_GONE',
    text: /^the service has ended, or has let this client go$/,
  },
];

for (const { name, answer, status, text } of CASES) {
  test(`C library: a service ${name} is a typed error in time`, async (t) => {
    const folder = world.newFolder();
    const fake = await FakeService.open(folder, answer);
    t.after(() => fake.close());
    const program = world.program({ env: { NIXL_TCPX_SERVICE_ANSWER_MS: `${ANSWER_MS}` } });
    const begunMs = performance.now();
    const reply = await program.ask(`open ${folder} alice`);
    const tookMs = performance.now() - begunMs;
    assert.equal(reply.status, serviceStatus(status), reply.text);
    assert.match(reply.text.replace(/^TCPX_\w+: /, ''), text);
    assert.ok(tookMs < ANSWER_MS + LATE_MS_MAX, `${tookMs} ms`);
    assert.equal(fake.asked, 1, 'it is not asked again');
    assert.equal((await program.ask('telemetry')).status, serviceStatus('ERR_ARGUMENT'), 'closed');
  });
}
