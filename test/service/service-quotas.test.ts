// What a client may have at most: each quota is refused by its name, costs nobody else anything,
// and has room again when something is given back.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { serviceStatus } from '../../src/base/service-status.js';
import { addMemory, type End, load, type RunningService, ServiceWorld } from './service-world.js';

const REGIONS = 16;
const REQUESTS = 20;
const TRANSFERS = 16;
const world = new ServiceWorld();
let service: RunningService;
let a: End;
let b: End;

before(async () => {
  service = await world.service({
    env: {
      NIXL_TCPX_SERVICE_REQUESTS_MAX: String(REQUESTS),
      NIXL_TCPX_SERVICE_BLOCKS_MAX: '4',
      NIXL_TCPX_SERVICE_PEERS_MAX: '2',
      NIXL_TCPX_SERVICE_REMOTE_REGIONS_MAX: '3',
      NIXL_TCPX_MEMORY_REGIONS_MAX: String(REGIONS),
      NIXL_TCPX_MEMORY_TRANSFERS_MAX: String(TRANSFERS),
    },
  });
  a = await world.end(service, 'alice');
  b = await world.end(service, 'bob');
});
after(() => world.close());

async function assertRefused(end: End, line: string, setting: RegExp): Promise<void> {
  const { status, text } = await end.program.ask(line);
  assert.equal(status, serviceStatus('ERR_LIMIT'), `${line}: ${text}`);
  assert.match(text, setting);
}

test('quotas: a client without settings of its own may not choose the service’s', async () => {
  // A profile would bring settings of its own, and the service would read whatever file it is.
  for (const setting of ['trust.mode=network', 'engine.profile=/dev/zero']) {
    const wrong = await world.program().ask(`open ${service.folder} greedy ${setting}`);
    assert.equal(wrong.status, serviceStatus('ERR_ARGUMENT'), wrong.text);
    assert.ok(wrong.text.includes(setting.split('=')[0] ?? ''), wrong.text);
  }
});

test('quotas: requests, blocks, peers, regions and memory are refused by name', async () => {
  const { program } = a;
  const here = await addMemory(a, 4096, 'malloc');
  assert.equal(here.id, '1', 'memory is numbered from 1');
  const { peer, region } = await load(a, a, here);

  const prepare = `prepare ${peer} ${here.id} ${region} 64`;
  const requests: string[] = [];
  while (requests.length < REQUESTS) requests.push(await program.do(prepare));
  await assertRefused(a, prepare, /service\.requestsMax allows 20/);
  for (const request of requests) await program.do(`release ${request}`);
  await program.do(`${prepare} 4`);
  await assertRefused(a, `${prepare} 5`, /service\.blocksMax allows 4/);
  // A client that does not ask the library.
  await assertRefused(a, 'break blocks', /service\.blocksMax allows 4/);

  const second = await program.do(`peer bob ${b.info}`);
  await assertRefused(a, `peer carol ${b.info}`, /service\.peersMax allows 2/);
  const regionLine = `region ${peer} 4096 ${here.key}`;
  await program.do(regionLine);
  await program.do(regionLine);
  await assertRefused(a, regionLine, /service\.remoteRegionsMax allows 3/);
  await program.do(`disconnect ${second}`);
  await program.do(`peer carol ${b.info}`);

  for (let count = 1; count < REGIONS; count++) await addMemory(a, 4096, 'malloc');
  await assertRefused(a, 'memory 4096 malloc', /memory\.regionsMax allows 16/);
  await program.do(`deregister ${REGIONS}`);
  await addMemory(a, 4096, 'alloc');

  // What alice has used up is not bob's.
  const there = await addMemory(b, 4096, 'malloc');
  const own = await load(b, b, there);
  await b.program.do(`write ${own.peer} ${there.id} ${own.region} 64`);
});

test('quotas: posts beyond memory.transfersMax wait their turn', async () => {
  const { program } = b;
  const { peer, region } = await load(b, b, await addMemory(b, 4096, 'alloc'));
  for (let count = 1; count < REQUESTS; count++) {
    await program.do(`prepare ${peer} 1 ${region} 64`);
  }
  assert.match(await program.do('flood 500'), /^500 /);
});
