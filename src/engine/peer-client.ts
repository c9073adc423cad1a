// The connecting side: control connection first, then a data connection per channel.

import { assert } from '../base/assert.js';
import { networkInterfaces } from 'node:os';
import { sleepMs, systemClock } from '../base/clock.js';
import type { Config } from '../base/config.js';
import { isTcpxError, TcpxError, toTcpxError } from '../base/errors.js';
import type { ControlSet } from '../os/control-set.js';
import { createShm, isAnswered, type ShmLink, unlinkShm } from '../provider/tcp/shm/shm-file.js';
import { identifySocket } from '../os/connection-counters.js';
import { closeSocket, dial, nicAddress, resolveHost } from '../os/dial.js';
import type {
  MatchConnection,
  MatchHandler,
  OpenMatch,
} from '../provider/tcpx/match-connection.js';
import { CONTROL_INDEX, MATCH_INDEX } from '../wire/control-frame.js';
import { ControlChannel } from './control-channel.js';
import {
  assertTrusted,
  attachChannel,
  freshNonce,
  greetServer,
  type Identity,
  pathOf,
} from './handshake.js';
import { type ChannelRoute, distinctRoutes, type LocalNic, routeChannels } from './nic-map.js';
import type { RedialOutcome } from './recovery-host.js';
import type { Session } from './session.js';
import type { SessionTable } from './session-table.js';
import { socketTuning } from './socket-tuning.js';
import { attachProof } from './trust.js';

export interface ConnectOptions {
  readonly set: ControlSet;
  readonly host: string;
  readonly port: number;
  readonly identity: Identity;
  readonly sessions: SessionTable;
  readonly config: Config;
  /** Whether a refused connection is tried again: the peer may not listen yet. */
  readonly isPatient: boolean;
  /** Where the tcpx provider is open. */
  readonly openMatch: ((fd: number, handler: MatchHandler) => MatchConnection) | undefined;
}

const RETRY_MS = 50;
/** A lost channel is tried again and again: one attempt is short. */
const REDIAL_MS = 1000;
/** One of several ways to the peer: another may carry. */
const ALTERNATIVE_MS = 300;

export async function connectPeer(options: ConnectOptions): Promise<Session> {
  const hosts = await resolveHost(options.host);
  const control = openControl(options.set, await dialPatiently(options, hosts));
  let session: Session | undefined;
  const routes: ChannelRoute[] = [];
  try {
    const greeted = await greetServer(options.identity, control);
    const { accept } = greeted;
    const { peerHost } = control.socket;
    session = options.sessions.create({
      id: accept.sessionId,
      role: 'client',
      peerName: greeted.peerName,
      peerGeneration: greeted.peerGeneration,
      agreement: accept,
      key: greeted.sessionKey,
      control,
      path: pathOf(options.identity),
      choice: greeted.choice,
      connectMatch: (made, epoch) => connectMatch(options, made, peerHost, epoch),
      redial: (made, channel, epoch) => redial(options, made, routes[channel], channel, epoch),
      attachControl: (made, epoch) =>
        attachControl(options, made, controlRoutes(options.config, peerHost, routes, made), epoch),
    });
    // With tcpx the NICs are the plugin's: tcp goes where routing leads.
    const isTcpx = greeted.choice.provider === 'tcpx';
    const nics = isTcpx ? [] : listNics(options.config).map(localNic);
    routes.push(...routeChannels(accept.channels, nics, accept.addresses, peerHost));
    for (const [channel, route] of routes.entries()) {
      const fd = await dialChannel(options, route, options.identity.timeoutMs);
      await attach(options, session, fd, { channel, epoch: 0, nic: route.nic });
    }
    await readyPlugin(session, options.config);
    return session;
  } catch (error) {
    if (session === undefined) control.close();
    else options.sessions.close(session, toTcpxError(error, 'ERR_SYS_CALL', 'connect'));
    throw error;
  }
}

// A peer that reset the connection meanwhile has no name any more: the descriptor must not stay.
function openControl(set: ControlSet, fd: number): ControlChannel {
  try {
    return new ControlChannel(set, fd);
  } catch (error) {
    closeSocket(fd);
    throw error;
  }
}

/** A new connection for a channel whose old one is lost, or stands still. */
async function redial(
  options: ConnectOptions,
  session: Session,
  route: ChannelRoute | undefined,
  channel: number,
  epoch: number,
): Promise<RedialOutcome> {
  if (route === undefined) return 'failed';
  try {
    const fd = await dialChannel(options, route, REDIAL_MS);
    // Only a path that works is worth the old connection.
    await session.recovery.clear(channel);
    await attach(options, session, fd, { channel, epoch, nic: route.nic });
    return 'attached';
  } catch (error) {
    return failureOf(error);
  }
}

function failureOf(error: unknown): RedialOutcome {
  if (!isTcpxError(error)) throw error;
  if (error.facts['isRefused'] === true) return 'refused';
  return error.facts['code'] === 'ERR_PEER_STALE_SESSION' ? 'unknown' : 'failed';
}

/** Where a control connection was before, then by the ways of channels that live. */
function controlRoutes(
  config: Config,
  peerHost: string,
  routes: readonly ChannelRoute[],
  session: Session,
): ChannelRoute[] {
  const own = { host: peerHost, nic: config.values['session.ctrlInterface'] };
  const { living } = session.recovery.book;
  const others = routes.filter((_, channel) => living.includes(channel));
  return distinctRoutes([own, ...others]);
}

/** A control connection in place of one that was lost. */
async function attachControl(
  options: ConnectOptions,
  session: Session,
  routes: readonly ChannelRoute[],
  epoch: number,
): Promise<RedialOutcome> {
  const { identity, set } = options;
  let connection: ControlChannel | undefined;
  try {
    connection = openControl(set, await dialAny(options, routes));
    assertTrusted(identity, connection);
    const { id, key } = session.facts;
    const name = { sessionId: id, channelIndex: CONTROL_INDEX, epoch, nonce: freshNonce() };
    await attachChannel(connection, key, name, identity.timeoutMs);
    options.sessions.attachControl(session, connection, epoch);
    return 'attached';
  } catch (error) {
    // The server may have taken it: a reset tells that it was given up, not that we have ended.
    connection?.abort();
    return failureOf(error);
  }
}

// Where tcp would do as well, a plugin that cannot be set up costs its speed, not the session.
async function readyPlugin(session: Session, config: Config): Promise<void> {
  try {
    await session.matched?.ready();
  } catch (error) {
    if (config.values['engine.provider'] !== 'auto' || session.isEnding()) throw error;
  }
}

/** A connection for the frames of matched transfers, of one epoch. */
async function connectMatch(
  options: ConnectOptions,
  session: Session,
  peerHost: string,
  epoch: number,
): Promise<OpenMatch> {
  const { identity, set, config, openMatch } = options;
  assert(openMatch !== undefined, 'the provider is open');
  const route = { host: peerHost, nic: config.values['session.ctrlInterface'] };
  const connection = openControl(set, await dialChannel(options, route, identity.timeoutMs));
  try {
    assertTrusted(identity, connection);
    const { id, key } = session.facts;
    const name = { sessionId: id, channelIndex: MATCH_INDEX, epoch, nonce: freshNonce() };
    // The server closes what was before first.
    const timeoutMs = identity.timeoutMs + config.values['tcpx.hangMs'];
    await attachChannel(connection, key, name, timeoutMs);
  } catch (error) {
    connection.close();
    throw error;
  }
  const { fd } = connection.socket;
  connection.socket.release();
  return (handler) => openMatch(fd, handler);
}

// Each way in turn; where there are others, the next is tried soon.
async function dialAny(options: ConnectOptions, routes: readonly ChannelRoute[]): Promise<number> {
  for (const route of routes.slice(0, -1)) {
    try {
      return await dialChannel(options, route, ALTERNATIVE_MS);
    } catch (error) {
      if (!isTcpxError(error)) throw error;
    }
  }
  const last = routes.at(-1);
  assert(last !== undefined, 'there is a way, if only that of the routing table');
  return dialChannel(options, last, REDIAL_MS);
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
        congestion: config.values['socket.congestion'],
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

function dialChannel(
  options: ConnectOptions,
  route: ChannelRoute,
  timeoutMs: number,
): Promise<number> {
  return dial(options.set, {
    address: { host: route.host, port: options.port },
    nic: route.nic,
    congestion: options.config.values['socket.congestion'],
    tuning: socketTuning(options.config),
    timeoutMs,
  });
}

async function attach(
  options: ConnectOptions,
  session: Session,
  fd: number,
  place: { readonly channel: number; readonly epoch: number; readonly nic: string },
): Promise<void> {
  const { timeoutMs, isSharedMemory } = options.identity;
  const { channel, epoch } = place;
  const { id, key } = session.facts;
  const connection = openControl(options.set, fd);
  const name = { sessionId: id, channelIndex: channel, epoch, nonce: freshNonce() };
  let link: ShmLink | undefined;
  try {
    // The server names the address: it may lie elsewhere than the server itself.
    assertTrusted(options.identity, connection);
    if (isSharedMemory) link = createShm(name.nonce);
    await attachChannel(connection, key, name, timeoutMs);
    if (link !== undefined) checkShared(connection, link, attachProof(key, 'attached', name));
  } catch (error) {
    connection.close();
    link?.unmap();
    throw error;
  } finally {
    if (isSharedMemory) unlinkShm(name.nonce);
  }
  connection.socket.release();
  const socket = identifySocket(fd);
  options.sessions.addChannel(session, { channel, epoch, fd, nic: place.nic, link, socket });
}

/** The server has said that it mapped the memory: its word must stand there too. */
function checkShared(connection: ControlChannel, link: ShmLink, answer: Uint8Array): void {
  if (isAnswered(link, answer)) return;
  throw new TcpxError(
    'ERR_CAP_SHARED_MEMORY',
    `${connection.where}: the peer maps other memory: it is not on this host`,
  );
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
