// The connecting side: control connection first, then a data connection per channel.

import { throwIfAborted, withSignal } from '../base/abort.js';
import { assert } from '../base/assert.js';
import type { Config } from '../base/config.js';
import { formatEndpoint } from '../base/endpoint.js';
import { isTcpxError, TcpxError, toTcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { ChannelIndex, Epoch } from '../base/quantity.js';
import { channelPlan } from '../provider/tcp/channel-plan.js';
import { ShmMailbox } from '../provider/tcp/shm/shm-handover.js';
import type { ShmLink } from '../provider/tcp/shm/shm-link.js';
import type {
  MatchConnection,
  MatchHandler,
  OpenMatch,
} from '../provider/tcpx/match-connection.js';
import { CONTROL_INDEX, MATCH_INDEX, NONCE_BYTES } from '../wire/control-frame.js';
import { wishAmid } from './agreement.js';
import { attachOutcome } from './attaching.js';
import type { PeerTerms } from './choices.js';
import { controlWays, DialPlan } from './dial-plan.js';
import { ClientGreeting, type ClientResult } from './greeting.js';
import { attachChannel, converse, dialBy, refusePeer } from './handshake.js';
import { checkTrusted, type Identity } from './identity.js';
import type { LiveSession } from './live-session.js';
import { type ChannelRoute, routeChannels, usableAddresses } from './nic-map.js';
import type { PeerConnection, PeerNetwork } from './peer-network.js';
import { tuneForPeer } from './peer-tuning.js';
import type { RedialOutcome } from './recovery-host.js';
import type { SessionTable } from './session-table.js';
import { type AttachRole, attachProof } from './trust.js';

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

const ATTACHES_AT_ONCE = 4;
const SHARE_ATTEMPTS = 3;

/** An aborted attempt is told at once; what was begun ends behind it. */
export async function connectPeer(options: ConnectOptions): Promise<LiveSession> {
  const { signal, host, port } = options;
  const what = `connect to ${formatEndpoint(host, port)}`;
  throwIfAborted(signal, what);
  return await withSignal(attemptOrByTcp(options), signal, what);
}

/** Where shared memory is a choice, the lack of it costs its speed, not the session. */
async function attemptOrByTcp(options: ConnectOptions): Promise<LiveSession> {
  const { identity, log, host, port, signal } = options;
  try {
    return await attempt(options);
  } catch (error) {
    if (identity.local !== 'auto' || !lacksMemory(error) || signal?.aborted === true) throw error;
    const peer = formatEndpoint(host, port);
    log.warn('no memory to share with a peer of this host: tcp instead', {
      peer,
      reason: error.message,
    });
    return await attempt({ ...options, identity: { ...identity, local: 'tcp' } });
  }
}

/** Here, or as the peer has told. */
function lacksMemory(error: unknown): error is TcpxError {
  if (!isTcpxError(error)) return false;
  return [error.code, error.facts['code']].includes('ERR_CAP_SHARED_MEMORY');
}

async function attempt(options: ConnectOptions): Promise<LiveSession> {
  const { network, identity, signal } = options;
  const control = await dialFirst(options);
  let session: LiveSession | undefined;
  const routes: ChannelRoute[] = [];
  try {
    const nonce = network.randomBytes(NONCE_BYTES);
    // Nothing is nearer than this host, however busy it is.
    const roundTripUs = control.isLoopback ? 0 : control.roundTripUs;
    const { bufferBytes } = network;
    const tuned = tuneForPeer(identity.wish, { roundTripUs, bufferBytes });
    const self = { ...identity, wish: wishAmid(tuned.wish, options.sessions.count) };
    const greeted = await converse(network, control, new ClientGreeting(self, control, nonce));
    // Before the session exists: nothing is dialled that the server alone has named.
    routes.push(...routesOf(options, control, greeted));
    const terms = { roundTripUs, reasons: tuned.reasons };
    session = createSession(options, control, greeted, routes, terms);
    await attachAll(options, session, routes.slice(0, session.facts.plan.needed));
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

/** Some at a time: the server has room for few that have not proved themselves. */
async function attachAll(
  options: ConnectOptions,
  session: LiveSession,
  routes: readonly ChannelRoute[],
): Promise<void> {
  const left = routes.entries();
  const stop = new AbortController();
  const { signal } = options;
  const either = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  const stoppable = { ...options, signal: either };
  const attachNext = async (): Promise<void> => {
    for (const [channel, route] of left) await attachFirst(stoppable, session, route, channel);
  };
  try {
    await Promise.all(Array.from({ length: ATTACHES_AT_ONCE }, attachNext));
  } catch (error) {
    // There is no session: what others are about ends, and no more begin.
    stop.abort();
    throw error;
  }
}

/** A server that got no memory to the client may have had bad luck: it is asked again. */
async function attachFirst(
  options: ConnectOptions & { readonly signal: AbortSignal },
  session: LiveSession,
  route: ChannelRoute,
  channel: ChannelIndex,
): Promise<void> {
  const { network, identity, port, signal } = options;
  for (let attempt = 1; ; attempt++) {
    const dialled = await dialBy(network, DialPlan.channel(route, identity.timeoutMs), port);
    const close = (): void => dialled.close();
    if (signal.aborted) close();
    throwIfAborted(signal, 'connect');
    signal.addEventListener('abort', close);
    try {
      await attach(options, session, dialled, { channel, epoch: 0, nic: route.nic });
      return;
    } catch (error) {
      if (!isTcpxError(error) || error.facts['code'] !== 'ERR_CAP_SHARED_MEMORY') throw error;
      if (attempt === SHARE_ATTEMPTS) throw error;
    } finally {
      signal.removeEventListener('abort', close);
    }
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
  { accept, choice, late }: ClientResult,
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
  const { count } = channelPlan(accept.channels, 'client', late);
  return routeChannels(count, nics, usable, control.peerHost);
}

function createSession(
  options: ConnectOptions,
  control: PeerConnection,
  greeted: ClientResult,
  routes: readonly ChannelRoute[],
  terms: PeerTerms,
): LiveSession {
  const { accept, peerName, peerGeneration, sessionKey, choice, sharing } = greeted;
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
    terms,
    choice,
    sharing,
    isChecked: greeted.isChecked,
    late: greeted.late,
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
    session.attachControl(connection, epoch);
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
  const { timeoutMs } = options.identity;
  const { channel, epoch } = place;
  const { id, key } = session.facts;
  const nonce = network.randomBytes(NONCE_BYTES);
  const name = { sessionId: id, channelIndex: channel, epoch, nonce };
  const prove = (role: AttachRole): Uint8Array => attachProof(key.reveal(), role, name);
  const { isWanted } = session.sharing;
  const mailbox = isWanted ? new ShmMailbox(nonce, prove('shared')) : undefined;
  let link: ShmLink | undefined;
  try {
    checkTrusted(options.identity, connection);
    const { isShared } = await attachChannel(network, connection, key.reveal(), name, timeoutMs);
    const taken = isShared ? mailbox?.take(prove('mapped')) : undefined;
    link = sharedLink(session, connection, isShared, taken);
  } catch (error) {
    connection.close();
    throw error;
  } finally {
    mailbox?.close();
  }
  options.sessions.addChannel(session, { ...connection.release(), ...place, link });
}

/** The memory of a connection whose server has said whether it sent some. */
function sharedLink(
  { sharing }: LiveSession,
  { where }: PeerConnection,
  isShared: boolean,
  link: ShmLink | undefined,
): ShmLink | undefined {
  if (!isShared) return sharing.isWanted ? sharing.settle('the server sent none') : undefined;
  // The server's end runs over it already: there is no other way for this connection.
  if (link === undefined) throw noMemory(where);
  return sharing.settle(link);
}

function noMemory(where: string): TcpxError {
  const text = `${where}: the memory that the server sent has not come, or is not safe to map`;
  return new TcpxError('ERR_CAP_SHARED_MEMORY', text, { facts: { peer: where } });
}
