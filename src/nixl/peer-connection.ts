// makeConnection: all backends that the agent shares with a peer connect to it, one after another.

import { throwIfAborted, withSignal } from '../base/abort.js';
import { checkOptions } from '../base/argument.js';
import { withinMs } from '../base/clock.js';
import { TcpxError } from '../base/errors.js';
import { CONNECTION } from './agent-arguments.js';
import type { ConnectionChoice } from './agent-choice.js';
import type { AgentParts } from './agent-parts.js';
import { checkAgentName } from './names.js';

export async function connectToPeer(
  { name, backends, peers }: Pick<AgentParts, 'name' | 'backends' | 'peers'>,
  agent: string,
  choice: ConnectionChoice,
): Promise<void> {
  checkAgentName(agent, 'makeConnection');
  checkOptions('makeConnection', choice, CONNECTION);
  const { signal, timeoutMs } = choice;
  const chosen = backends.select(choice.backends);
  if (peers.find(agent) === undefined) {
    const why = agent === name ? 'an agent is not its own peer' : `${agent} is unknown`;
    throw new TcpxError('ERR_USAGE_NOT_FOUND', `makeConnection: ${why}`);
  }
  const common = chosen.filter((handle) => peers.isReachable(agent, handle));
  if (common.length === 0) {
    throw new TcpxError('ERR_CAP_BACKEND', `makeConnection: no backend in common with ${agent}`);
  }
  throwIfAborted(signal, 'makeConnection');
  const connected = (async () => {
    for (const { backend } of common) await backend.connect(agent);
    return true;
  })();
  const inTime = timeoutMs === undefined ? connected : withinMs(connected, timeoutMs);
  if ((await withSignal(inTime, signal, 'makeConnection')) === true) return;
  throw new TcpxError(
    'ERR_PEER_TIMEOUT',
    `makeConnection: ${agent} was not connected within ${timeoutMs} ms`,
    { facts: { agent } },
  );
}
