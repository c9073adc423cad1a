// The connecting side: control connection first, then a data connection per channel.

import { networkInterfaces } from 'node:os';
import { sleepMs, systemClock } from '../base/clock.js';
import type { Config } from '../base/config.js';
import { isTcpxError, TcpxError } from '../base/errors.js';
import type { ControlSet } from '../transport/tcp/control-set.js';
import { dial, nicAddress, resolveHost } from '../transport/tcp/dial.js';
import { ControlChannel } from './control-channel.js';
import { assertTrusted, attachChannel, greetServer, type Identity } from './handshake.js';
import { type ChannelRoute, type LocalNic, routeChannels } from './nic-map.js';
import type { Session } from './session.js';
import type { SessionTable } from './session-table.js';
import { socketTuning } from './socket-tuning.js';

export interface ConnectOptions {
  readonly set: ControlSet;
  readonly host: string;
  readonly port: number;
  readonly identity: Identity;
  readonly sessions: SessionTable;
  readonly config: Config;
  /** Whether a refused connection is tried again: the peer may not listen yet. */
  readonly isPatient: boolean;
}

const RETRY_MS = 50;

export async function connectPeer(options: ConnectOptions): Promise<Session> {
  const hosts = await resolveHost(options.host);
  const control = new ControlChannel(options.set, await dialPatiently(options, hosts));
  let session: Session | undefined;
  try {
    const greeted = await greetServer(options.identity, control);
    const { accept } = greeted;
    session = options.sessions.create({
      id: accept.sessionId,
      role: 'client',
      peerName: greeted.peerName,
      peerGeneration: greeted.peerGeneration,
      agreement: accept,
      key: greeted.sessionKey,
      control,
    });
    const nics = listNics(options.config).map(localNic);
    const routes = routeChannels(accept.channels, nics, accept.addresses, control.socket.peerHost);
    for (const [channelIndex, route] of routes.entries()) {
      await openChannel(options, session, channelIndex, route);
    }
    return session;
  } catch (error) {
    if (session === undefined) control.close();
    else if (isTcpxError(error)) options.sessions.close(session, error);
    throw error;
  }
}

// A peer that has not started to listen yet refuses: try again until the time is over, and every
// address of a name each time.
async function dialPatiently(options: ConnectOptions, hosts: readonly string[]): Promise<number> {
  const { config, set } = options;
  const endUs = systemClock.nowUs() + config.values['session.connectTimeoutMs'] * 1000;
  for (let round = 0; ; round++) {
    const leftMs = Math.ceil((endUs - systemClock.nowUs()) / 1000);
    const host = hosts[round % hosts.length] ?? options.host;
    try {
      return await dial(set, {
        address: { host, port: options.port },
        nic: config.values['session.ctrlInterface'],
        tuning: socketTuning(config),
        timeoutMs: Math.max(1, leftMs),
      });
    } catch (error) {
      if (!isTcpxError(error) || error.facts['isRefused'] !== true) throw error;
      if (!options.isPatient && round >= hosts.length - 1) throw error;
      if (leftMs <= RETRY_MS) throw error;
      if (round % hosts.length === hosts.length - 1) await sleepMs(RETRY_MS);
    }
  }
}

async function openChannel(
  options: ConnectOptions,
  session: Session,
  channelIndex: number,
  route: ChannelRoute,
): Promise<void> {
  const { set, config, identity } = options;
  const fd = await dial(set, {
    address: { host: route.host, port: options.port },
    nic: route.nic,
    tuning: socketTuning(config),
    timeoutMs: identity.timeoutMs,
  });
  const connection = new ControlChannel(set, fd);
  try {
    // The server names the address: it may lie elsewhere than the server itself.
    assertTrusted(identity, connection);
    const channel = { sessionId: session.facts.id, channelIndex, epoch: 0 };
    await attachChannel(connection, session.facts.key, channel, identity.timeoutMs);
  } catch (error) {
    connection.close();
    throw error;
  }
  connection.socket.release();
  options.sessions.addChannel(session, channelIndex, fd, route.nic);
}

export function listNics(config: Config): string[] {
  const text = config.values['session.nics'];
  return text === '' ? [] : text.split(',').map((name) => name.trim());
}

function localNic(name: string): LocalNic {
  const address = nicAddress(name, 'IPv4');
  const entry = networkInterfaces()[name]?.find((candidate) => candidate.address === address);
  const prefix = Number(entry?.cidr?.split('/')[1] ?? 32);
  if (!Number.isInteger(prefix))
    throw new TcpxError('ERR_CONFIG_VALUE', `interface ${name}: no network`);
  return { name, address, prefix };
}
