// An honest peer in a process of its own, to be stopped and killed: writes to the address in its
// arguments, again and again, until it ends.

import { loadConfig } from '../../src/base/config.js';
import { silentLog } from '../../src/base/log.js';
import { Engine } from '../../src/engine/engine.js';
import type { RegionDescriptor } from '../../src/memory/region.js';

const { port, region, bytes } = JSON.parse(process.argv[2] ?? '{}') as {
  port: number;
  region: RegionDescriptor;
  bytes: number;
};
const config = loadConfig({ options: {}, environment: {} });
const engine = await Engine.open({ name: 'to be killed', config, log: silentLog });
const local = engine.register(new Uint8Array(bytes));
const session = await engine.connect('127.0.0.1', port);
const block = { local, localOffset: 0, remote: region, remoteOffset: 0, bytes };
for (;;) {
  await session.write([block], { notify: 'again' }).done;
}
