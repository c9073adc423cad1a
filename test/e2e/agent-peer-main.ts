// The far side of the agent's tests, in a process of its own:
//   agent-peer-main.js NAME BYTES      offers memory filled with a pattern, prints its metadata,
//                                      then prints `seen TEXT SUM` for each notification
//   agent-peer-main.js session INFO    a p2p client: receives 1 MiB, sends it back

import { checksumHost } from '../../src/gpu/checksum.js';
import { Agent } from '../../src/nixl/agent.js';
import { describeMemory } from '../../src/nixl/host-memory.js';
import { MemType } from '../../src/nixl/memory-type.js';
import { TcpxSession } from '../../src/p2p/tcpx-session.js';

const [first = '', second = ''] = process.argv.slice(2);
if (first === 'session') await runSession(second);
else await runAgent(first, Number(second));

async function runAgent(name: string, bytes: number): Promise<void> {
  const agent = await Agent.create(name);
  await agent.createBackend('TCPX');
  const { buffer } = agent.allocateMem(bytes, 'prefer-huge');
  const memory = new Uint8Array(buffer);
  await agent.registerMem({ memType: MemType.DRAM, descs: [describeMemory(buffer)] });
  process.stdout.write(`${Buffer.from(agent.getLocalMD()).toString('base64')}\n`);
  const input = process.stdin.resume();
  while (!input.readableEnded) {
    for (const [, messages] of await agent.waitNotifs(100)) {
      for (const message of messages) {
        const sum = checksumHost(memory).toString(16);
        process.stdout.write(`seen ${Buffer.from(message).toString()} ${sum}\n`);
      }
    }
  }
  await agent.close();
}

async function runSession(info: string): Promise<void> {
  const session = await TcpxSession.open({ name: 'client' });
  session.loadRemoteConnInfo('server', info);
  await session.connect('server');
  const memory = new Uint8Array(1 << 20);
  const id = session.registerMemory(memory);
  const transfer = session.createTransfer('server');
  const receive = transfer.postRecv(id, 0, memory.length, 1);
  await transfer.wait(20_000);
  await transfer.consume(receive);
  transfer.postSend(id, 0, memory.length, 2);
  await transfer.wait(20_000);
  await transfer.release();
  await session.close();
}
