// What a program does about what goes wrong: five kinds of failure, each by its code.
//   node acting-on-errors.mjs

import { Engine, isTcpxError } from 'nixl-tcpx';

const server = await Engine.open({ name: 'server' });
const port = server.listen('127.0.0.1:0');
server.register(new Uint8Array(8), { name: 'locked', rights: { read: true, write: false } });
const client = await Engine.open({ name: 'client' });
const session = await client.connect(`127.0.0.1:${port}`);
const locked = await session.lookup('locked');

const attempts = [
  () => session.lookup(''),
  () => session.lookup('nothing'),
  () => session.write({ local: new Uint8Array(8), remote: locked }),
  () => session.lookup('later', { waitMs: 60_000, signal: AbortSignal.timeout(50) }),
  () => client.connect('127.0.0.1:1', { isPatient: false }),
];
for (const attempt of attempts) {
  try {
    await attempt();
  } catch (error) {
    if (!isTcpxError(error)) throw error;
    let advice = error.isRetryable ? 'connect again, perhaps elsewhere' : 'tell the operator';
    if (error.name === 'AbortError') advice = 'we gave it up ourselves';
    if (error.code === 'ERR_USAGE_ARGUMENT') advice = 'a mistake of this program';
    if (error.code === 'ERR_PEER_NO_REGION') advice = 'ask again later, or for another name';
    if (error.code === 'ERR_PEER_RIGHTS') advice = 'the peer does not want this';
    console.log(`${error.code}: ${advice}`);
  }
}
await Promise.all([client.close(), server.close()]);
