// The connecting side: control connection first, then a data connection per channel.

import { throwIfAborted, withSignal } from '../base/abort.js';
import { assert } from '../base/assert.js';
import type { Config } from '../base/config.js';
import { formatEndpoint } from '../base/endpoint.js';
import { isTcpxError, TcpxError, toTcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { ChannelIndex, Epoch } from '../base/quantity.js';
import { createShm, isAnswered, type ShmLink, unlinkShm } from '../provider/tcp/shm/shm-file.js';
import type {
  MatchConnection,
  MatchHandler,
  OpenMatch,
} from '../provider/tcpx/match-connection.js';
import { CONTROL_INDEX, MATCH_INDEX, NONCE_BYTES } from '../wire/control-frame.js';
import { attachOutcome } from './attaching.js';
import { controlWays, DialPlan } from './dial-plan.js';
import { ClientGreeting, type ClientResult } from './greeting.js';
import { attachChannel, converse, dialBy, refusePeer } from './handshake.js';
import { checkTrusted, type Identity, pathOf } from './identity.js';
import type { LiveSession } from './live-session.js';
import { type ChannelRoute, routeChannels, usableAddresses } from './nic-map.js';
import type { PeerConnection, PeerNetwork } from './peer-network.js';
import type { RedialOutcome } from './recovery-host.js';
import type { SessionTable } from './session-table.js';

export interface ConnectOptions {
  readonly network: PeerNetwork;
  readonly host: string;
  readonly port: number;
  readonly identity: Identity;
  readonly sessions: SessionTable;
  readonly config: Config;
  readonly log: Log;
  /** Instead of `session.connectTimeoutMs`. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Whether a refused connection is tried again: the peer may not listen yet. */
  readonly isPatient: boolean;
  /** Where the tcpx provider is open. */
  readonly openMatch: ((fd: number, handler: MatchHandler) => MatchConnection) | undefined;
}

/** An aborted attempt is told at once; what was begun ends behind it. */
export async function connectPeer(options: ConnectOptions): Promise<LiveSession> {
  const { signal, host, port } = options;
  const what = `connect to ${formatEndpoint(host, port)}`;
  throwIfAborted(signal, what);
  return await withSignal(attempt(options), signal, what);
}

async function attempt(options: ConnectOptions): Promise<LiveSession> {
  const { network, identity, signal } = options;
  const control = await dialFirst(options);
  let session: LiveSession | undefined;
  const routes: ChannelRoute[] = [];
  try {
    const nonce = network.randomBytes(NONCE_BYTES);
    const greeted = await converse(network, control, new ClientGreeting(identity, control, nonce));
    // Before the session exists: nothing is dialled that the server alone has named.
    routes.push(...routesOf(options, control, greeted));
    session = createSession(options, control, greeted, routes);
    for (const [channel, route] of routes.entries()) {
      const dialled = await dialBy(
        network,
        DialPlan.channel(route, identity.timeoutMs),
        options.port,
      );
      throwIfAborted(signal, 'connect');
      await attach(options, session, dialled, { channel, epoch: 0, nic: route.nic });
    }
    await readyPlugin(session, options.config);
    throwIfAborted(signal, 'connect');
    return session;
  } catch (error) {
    // Told before we go, so that the server's log says why and from where.
    if (session === undefined) endGreeting(control, error);
    else options.sessions.close(session, toTcpxError(error, 'ERR_SYS_CALL', 'connect'));
    throw error;
  }
}

function dialFirst(options: ConnectOptions): Promise<PeerConnection> {
  const { network, port, config, isPatient } = options;
  const timeoutMs = options.timeoutMs ?? config.values['session.connectTimeoutMs'];
  return network.resolve(options.host).then((hosts) => {
    const limit = { nowUs: network.nowUs(), timeoutMs, isPatient };
    return dialBy(
      network,
      DialPlan.first(hosts, config.values['session.ctrlInterface'], limit),
      port,
    );
  });
}

// One that has refused knows why.
function endGreeting(control: PeerConnection, error: unknown): void {
  if (isTcpxError(error, 'ERR_PEER_REFUSED')) control.close();
  else refusePeer(control, error);
}

function routesOf(
  options: ConnectOptions,
  control: PeerConnection,
  { accept, choice }: ClientResult,
): ChannelRoute[] {
  // With tcpx the NICs are the plugin's: tcp goes where routing leads.
  const nics = choice.provider === 'tcpx' ? [] : options.network.nics(control.peerHost);
  const { usable, foreign } = usableAddresses(accept.addresses, nics, control.peerHost);
  if (foreign.length > 0) {
    options.log.warn('addresses of the peer are left out: not in a network of session.nics', {
      peer: control.where,
      addresses: foreign.join(' '),
      nics: nics.map(({ name }) => name).join(' '),
    });
  }
  return routeChannels(accept.channels, nics, usable, control.peerHost);
}

function createSession(
  options: ConnectOptions,
  control: PeerConnection,
  greeted: ClientResult,
  routes: readonly ChannelRoute[],
): LiveSession {
  const { accept, peerName, peerGeneration, sessionKey, choice, isChecked } = greeted;
  const { peerHost } = control;
  const { channels, windowChunks, chunkBytes } = accept;
  return options.sessions.create({
    id: accept.sessionId,
    role: 'client',
    peerName,
    peerGeneration,
    agreement: { channels, windowChunks, chunkBytes },
    key: sessionKey,
    control,
    path: pathOf(options.identity),
    choice,
    isChecked,
    connectMatch: (made, epoch) => connectMatch(options, made, peerHost, epoch),
    reconnect: ({ timeoutMs, signal, isPatient = options.isPatient }) =>
      connectPeer({ ...options, timeoutMs, signal, isPatient }),
    redial: (made, channel, epoch) => redial(options, made, routes[channel], channel, epoch),
    attachControl: (made, epoch) => attachControl(options, made, peerHost, routes, epoch),
  });
}

/** A new connection for a channel whose old one is lost, or stands still. */
async function redial(
  options: ConnectOptions,
  session: LiveSession,
  route: ChannelRoute | undefined,
  channel: ChannelIndex,
  epoch: Epoch,
): Promise<RedialOutcome> {
  if (route === undefined) return 'failed';
  try {
    const connection = await dialBy(options.network, DialPlan.channel(route), options.port);
    // Only a path that works is worth the old connection.
    await session.recovery.clear(channel);
    await attach(options, session, connection, { channel, epoch, nic: route.nic });
    return 'attached';
  } catch (error) {
    if (!isTcpxError(error)) throw error;
    return attachOutcome(error);
  }
}

/** A control connection in place of one that was lost. */
async function attachControl(
  options: ConnectOptions,
  session: LiveSession,
  peerHost: string,
  routes: readonly ChannelRoute[],
  epoch: Epoch,
): Promise<RedialOutcome> {
  const { identity, network, config } = options;
  const own = { host: peerHost, nic: config.values['session.ctrlInterface'] };
  const ways = controlWays(own, routes, session.recovery.book.living);
  let connection: PeerConnection | undefined;
  try {
    connection = await dialBy(network, DialPlan.alternatives(ways), options.port);
    checkTrusted(identity, connection);
    const { id, key } = session.facts;
    const nonce = network.randomBytes(NONCE_BYTES);
    const name = { sessionId: id, channelIndex: CONTROL_INDEX, epoch, nonce };
    await attachChannel(network, connection, key.reveal(), name, identity.timeoutMs);
    options.sessions.attachControl(session, connection, epoch);
    return 'attached';
  } catch (error) {
    // The server may have taken it: a reset tells that it was given up, not that we have ended.
    connection?.abort();
    if (!isTcpxError(error)) throw error;
    return attachOutcome(error);
  }
}

// Where tcp would do as well, a plugin that cannot be set up costs its speed, not the session.
async function readyPlugin(session: LiveSession, config: Config): Promise<void> {
  try {
    await session.matched?.ready();
  } catch (error) {
    if (config.values['engine.provider'] !== 'auto' || session.isEnding()) throw error;
  }
}

/** A connection for the frames of matched transfers, of one epoch. */
async function connectMatch(
  options: ConnectOptions,
  session: LiveSession,
  peerHost: string,
  epoch: Epoch,
): Promise<OpenMatch> {
  const { identity, network, config, openMatch } = options;
  assert(openMatch !== undefined, 'the provider is open');
  const way = { host: peerHost, nic: config.values['session.ctrlInterface'] };
  const plan = DialPlan.channel(way, identity.timeoutMs);
  const connection = await dialBy(network, plan, options.port);
  try {
    checkTrusted(identity, connection);
    const { id, key } = session.facts;
    const nonce = network.randomBytes(NONCE_BYTES);
    const name = { sessionId: id, channelIndex: MATCH_INDEX, epoch, nonce };
    // The server closes what was before first.
    const timeoutMs = identity.timeoutMs + config.values['tcpx.hangMs'];
    await attachChannel(network, connection, key.reveal(), name, timeoutMs);
  } catch (error) {
    connection.close();
    throw error;
  }
  const { fd } = connection.release();
  return (handler) => openMatch(fd, handler);
}

async function attach(
  options: ConnectOptions,
  session: LiveSession,
  connection: PeerConnection,
  place: { readonly channel: ChannelIndex; readonly epoch: Epoch; readonly nic: string },
): Promise<void> {
  const { network } = options;
  const { timeoutMs, isSharedMemory } = options.identity;
  const { channel, epoch } = place;
  const { id, key } = session.facts;
  const nonce = network.randomBytes(NONCE_BYTES);
  let link: ShmLink | undefined;
  try {
    checkTrusted(options.identity, connection);
    if (isSharedMemory) link = createShm(nonce);
    const name = { sessionId: id, channelIndex: channel, epoch, nonce };
    const answer = await attachChannel(network, connection, key.reveal(), name, timeoutMs);
    if (link !== undefined) checkShared(connection, link, answer);
  } catch (error) {
    connection.close();
    link?.unmap();
    throw error;
  } finally {
    if (isSharedMemory) unlinkShm(nonce);
  }
  options.sessions.addChannel(session, { ...connection.release(), ...place, link });
}

/** The server has said that it mapped the memory: its word must stand there too. */
function checkShared(connection: PeerConnection, link: ShmLink, answer: Uint8Array): void {
  if (isAnswered(link, answer)) return;
  throw new TcpxError(
    'ERR_CAP_SHARED_MEMORY',
    `${connection.where}: the peer maps other memory: it is not on this host`,
  );
}
