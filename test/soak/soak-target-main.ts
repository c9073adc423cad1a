// An agent in a process of its own that is attacked for long. It listens for sessions and for
// metadata, collects its notifications now and then, and answers each line of its input with what
// it holds, as one line of JSON.

import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { SettingValues } from '../../src/base/settings.js';
import { Agent } from '../../src/nixl/agent.js';
import { openBackendOf } from '../../src/nixl/backend-set.js';
import type { TcpxBackend } from '../../src/nixl/tcpx-backend.js';
import { openDescriptors } from '../support/process-resources.js';

const COLLECT_MS = 2000;
const options = JSON.parse(process.argv[2] ?? '{}') as {
  bytes: number;
  settings: Partial<SettingValues>;
};

function print(fact: object): void {
  process.stdout.write(`${JSON.stringify(fact)}\n`);
}

const { settings } = options;
const agent = await Agent.create('soaked', { useListenThread: true, settings });
const params = Object.fromEntries(
  Object.entries(settings).map(([name, value]) => [name, String(value)]),
);
const handle = await agent.createBackend('TCPX', params);
const { engine } = openBackendOf(handle).backend as TcpxBackend;
const region = engine.register(new Uint8Array(options.bytes)).descriptor;
const scratch = engine.register(new Uint8Array(options.bytes)).descriptor;
const blob = Buffer.from(agent.getLocalMD()).toString('base64');
print({ port: engine.connInfo().port, listenPort: agent.listenPort, region, scratch, blob });
const collecting = setInterval(() => agent.getNotifs(), COLLECT_MS);

const lines = createInterface({ input: process.stdin });
lines.on('line', () => {
  globalThis.gc?.();
  print({ descriptors: openDescriptors(), sessions: engine.sessions.length });
});
await once(lines, 'close');
clearInterval(collecting);
await agent.close();
