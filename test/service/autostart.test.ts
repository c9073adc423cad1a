// A service that the C library starts where none answers: what it is started by, what it takes
// along of the program, and what the program is told where it cannot be started.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { serviceStatus } from '../../src/base/service-status.js';
import { packageRoot } from '../e2e/child.js';
import { hasEnded } from '../e2e/running-tcpx.js';
import { until } from '../support/until.js';
import { ServiceWorld } from './service-world.js';

/** Of an attach that must not wait for the start of a service that never comes: 15 s. */
const AT_ONCE_MS_MAX = 5000;
const env = {
  NIXL_TCPX_SERVICE_AUTOSTART: '1',
  NIXL_TCPX_SERVICE_COMMAND: `${process.execPath} ${join(packageRoot, 'bin/tcpx.js')} serve`,
  NIXL_TCPX_SERVICE_IDLE_MS: '300',
};
const world = new ServiceWorld();
after(() => world.close());

test('service: started on demand by the first of many clients, ends by itself', async () => {
  const folder = join(world.newFolder(), 'service');
  const programs = [1, 2, 3].map(() => world.program({ env }));
  await Promise.all(programs.map((one, index) => one.do(`open ${folder} client-${index}`)));
  const pid = Number(readFileSync(join(folder, 'service.lock'), 'utf8'));
  assert.ok(!hasEnded(pid));
  for (const one of programs) await one.do('close');
  await until('the service has ended', 10_000, () => hasEnded(pid));
});

test('service: one on demand has a working folder of its own, no file of its program', async () => {
  const folder = world.newFolder();
  const file = join(folder, 'inherited');
  writeFileSync(file, '');
  // Descriptor 9 is one that programs started by this one inherit.
  const script = 'cd "$0" && exec 9<inherited && exec "$@"';
  const inside = (words: readonly string[]) => ['sh', '-c', script, folder, ...words];
  const program = world.program({ env, inside });
  await program.do('open service alice');
  const pid = Number(readFileSync(join(folder, 'service/service.lock'), 'utf8'));
  const own = readdirSync(`/proc/${program.child.pid}/fd`);
  assert.ok(own.includes('9'), 'the program has it');
  const files = readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`));
  assert.ok(files.includes('/dev/null'), files.join(', '));
  assert.ok(!files.includes(file), files.join(', '));
  assert.equal(readlinkSync(`/proc/${pid}/cwd`), '/');
  await program.do('close');
  await until('the service has ended', 10_000, () => hasEnded(pid));
});

/** Empty where it was closed meanwhile. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

test('service: a command that is not there is told at once, with name and log', async () => {
  const folder = join(world.newFolder(), 'service');
  const wrong = { ...env, NIXL_TCPX_SERVICE_COMMAND: 'tcpx-of-nobody serve --json' };
  const beginMs = performance.now();
  const { status, text } = await world.program({ env: wrong }).ask(`open ${folder} alice`);
  const tookMs = performance.now() - beginMs;
  assert.equal(status, serviceStatus('ERR_NO_SERVICE'), text);
  assert.ok(tookMs < AT_ONCE_MS_MAX, `${tookMs} ms`);
  assert.match(text, /tcpx-of-nobody serve --json: No such file/);
  assert.match(text, new RegExp(`${folder}/service\\.log`));
});

for (const word of ['yes', 'on', 'TRUE', '2']) {
  test(`service: ${word} as the switch of the start is refused by name`, async () => {
    const wrong = { ...env, NIXL_TCPX_SERVICE_AUTOSTART: word };
    const { status, text } = await world
      .program({ env: wrong })
      .ask(`open ${world.newFolder()} alice`);
    assert.equal(status, serviceStatus('ERR_ARGUMENT'), text);
    assert.match(text, new RegExp(`NIXL_TCPX_SERVICE_AUTOSTART=${word}: expected true, false`));
  });
}

for (const word of ['', '0', 'false']) {
  test(`service: none is started with "${word}", and the error says how to have one`, async () => {
    const without = { ...env, NIXL_TCPX_SERVICE_AUTOSTART: word };
    const { status, text } = await world
      .program({ env: without })
      .ask(`open ${world.newFolder()} alice`);
    assert.equal(status, serviceStatus('ERR_NO_SERVICE'), text);
    assert.match(text, /`tcpx serve`.*NIXL_TCPX_SERVICE_AUTOSTART=1/);
  });
}
