// Both ends of a session: how it is made, how its channels attach, in the order and with the calls
// of peer-client.ts and peer-server.ts. The bytes of the handshake are not simulated.

import { isTcpxError, TcpxError } from '../../../src/base/errors.js';
import type { Random } from '../../../src/base/random.js';
import type { RedialOutcome } from '../../../src/engine/recovery-host.js';
import type { Session } from '../../../src/engine/session.js';
import { type Agreement, CONTROL_INDEX } from '../../../src/wire/control-frame.js';
import type { SimPort } from './sim-connection.js';
import { SimControl } from './sim-control.js';
import type { SimNetwork } from './sim-network.js';
import type { SimNode } from './sim-node.js';
import type { SimTime } from './sim-time.js';
import { Violation } from './violation.js';

const REDIAL_US = 1_000_000;
const ATTACH_US = 2_000_000;

interface AttachMessage {
  readonly sessionId: number;
  readonly channel: number;
  readonly epoch: number;
  /** Where the channel is CONTROL_INDEX: the server's end of what follows. */
  readonly control: SimControl | undefined;
  readonly answer: (code: string | undefined) => void;
}

interface Recorded {
  readonly client: string;
  readonly server: string;
  readonly sessionId: number;
  readonly channel: number;
  readonly epoch: number;
}

/** Both ends of one session. The server's exists only at the machine that made it. */
export interface SessionPair {
  readonly id: number;
  readonly client: SimNode;
  readonly server: SimNode;
  readonly atClient: Session;
  readonly atServer: Session;
}

/** What a connection says first. */
interface AttachName {
  readonly sessionId: number;
  readonly channel: number;
  readonly epoch: number;
  readonly control?: SimControl;
}

export class SessionMaker {
  readonly #time: SimTime;
  readonly #network: SimNetwork;
  readonly #isDuplicated: () => boolean;
  /** First messages of connections that have come in, until the main thread looks. */
  readonly #attaches = new Map<SimPort, AttachMessage>();
  /** Asynchronous steps that have not ended. */
  pending = 0;
  /** What one of them threw although it should not. */
  failure: Error | undefined;
  readonly #recorded: Recorded[] = [];
  #nextId = 1;

  constructor(time: SimTime, network: SimNetwork, isDuplicated: () => boolean) {
    this.#time = time;
    this.#network = network;
    this.#isDuplicated = isDuplicated;
  }

  /** Both ends at once, then a channel after the other. */
  connect(client: SimNode, server: SimNode, agreement: Agreement): SessionPair {
    const id = this.#nextId++;
    const [clientControl, serverControl] = this.#controls(client, server);
    client.controls.add(clientControl);
    server.controls.add(serverControl);
    const generation = new Uint8Array(8);
    const path = 'tcp host' as const;
    const choice = { provider: 'tcp', reason: 'simulated' } as const;
    const keys = { key: new Uint8Array(32), peerGeneration: generation };
    const common = { id, agreement, ...keys, path, choice };
    const atServer = server.sessions.create({
      ...common,
      role: 'server',
      peerName: client.name,
      control: serverControl,
    });
    const atClient = client.sessions.create({
      ...common,
      role: 'client',
      peerName: server.name,
      control: clientControl,
      redial: (session, channel, epoch) =>
        this.#outcome(() => this.#attach(client, server, session, channel, epoch)),
      attachControl: (session, epoch) =>
        this.#outcome(() => this.#attachControl(client, server, session, epoch)),
    });
    this.#attachAll(client, server, atClient).catch((error: unknown) => this.#fail(error));
    this.#time.after(2 * ATTACH_US, () => {
      if (atServer.state !== 'attaching' || !server.isAlive) return;
      server.sessions.close(atServer, new TcpxError('ERR_PEER_TIMEOUT', 'channels not attached'));
    });
    return { id, client, server, atClient, atServer };
  }

  #fail(error: unknown): void {
    this.failure ??= error instanceof Error ? error : new Error('not an error was thrown');
  }

  #controls(client: SimNode, server: SimNode): [SimControl, SimControl] {
    const path = this.#network.path(client.name, server.name, 0);
    const rules = {
      isDuplicated: this.#isDuplicated,
      time: this.#time,
      delayUs: () => this.#network.delayUs(),
      openUs: () => path.frozenUs,
    };
    const clientControl = new SimControl(`${server.name}:1`, rules);
    const serverControl = new SimControl(`${client.name}:2`, rules);
    clientControl.peer = serverControl;
    serverControl.peer = clientControl;
    return [clientControl, serverControl];
  }

  async #attachAll(client: SimNode, server: SimNode, session: Session): Promise<void> {
    this.pending++;
    try {
      for (let channel = 0; channel < session.facts.agreement.channels; channel++) {
        await this.#attach(client, server, session, channel, 0);
      }
    } catch (error) {
      if (!isTcpxError(error)) throw error;
      if (client.isAlive) client.sessions.close(session, error);
    } finally {
      this.pending--;
    }
  }

  async #outcome(attempt: () => Promise<void>): Promise<RedialOutcome> {
    this.pending++;
    try {
      await attempt();
      return 'attached';
    } catch (error) {
      if (!isTcpxError(error)) this.#fail(error);
      if (!isTcpxError(error)) return 'failed';
      if (error.facts['isRefused'] === true) return 'refused';
      return error.facts['code'] === 'ERR_PEER_STALE_SESSION' ? 'unknown' : 'failed';
    } finally {
      this.pending--;
    }
  }

  async #attach(
    client: SimNode,
    server: SimNode,
    session: Session,
    channel: number,
    epoch: number,
  ): Promise<void> {
    const port = await this.#dial(client, server, channel);
    if (epoch > 0) await session.recovery.clear(channel);
    const sessionId = session.facts.id;
    const code = await this.#prove(port, { sessionId, channel, epoch });
    if (code !== undefined || isDead(client)) {
      port.close(false);
      throw new TcpxError('ERR_PEER_REFUSED', 'attach', { facts: { code: code ?? '' } });
    }
    client.sessions.addChannel(session, { channel, epoch, fd: port.fd, nic: '' });
    this.#recorded.push({ client: client.name, server: server.name, sessionId, channel, epoch });
  }

  async #dial(client: SimNode, server: SimNode, path: number): Promise<SimPort> {
    const dialled = await this.#network.dial(client.name, server.name, path, REDIAL_US);
    if (dialled === 'timeout') throw new TcpxError('ERR_PEER_TIMEOUT', 'dial');
    if (dialled === 'refused') {
      throw new TcpxError('ERR_PEER_UNREACHABLE', 'dial', { facts: { isRefused: true } });
    }
    if (!isDead(client)) return dialled.port;
    dialled.port.close(true);
    throw new TcpxError('ERR_PEER_LOST', 'crashed');
  }

  // The connection that proves itself stands for what follows; its bytes are not simulated.
  async #attachControl(
    client: SimNode,
    server: SimNode,
    session: Session,
    epoch: number,
  ): Promise<void> {
    const port = await this.#dial(client, server, 0);
    const [own, theirs] = this.#controls(client, server);
    const sessionId = session.facts.id;
    const channel = CONTROL_INDEX;
    const code = await this.#prove(port, { sessionId, channel, epoch, control: theirs });
    port.close(false);
    if (code !== undefined || isDead(client)) {
      own.abort();
      throw new TcpxError('ERR_PEER_REFUSED', 'attach', { facts: { code: code ?? '' } });
    }
    this.#recorded.push({ client: client.name, server: server.name, sessionId, channel, epoch });
    try {
      client.sessions.attachControl(session, own, epoch);
      client.controls.add(own);
    } catch (error) {
      own.abort();
      throw error;
    }
  }

  /** Somebody plays a recorded ATTACH again: it must be refused. */
  replayAttach(random: Random): boolean {
    const recorded = this.#recorded[random.nextBetween(0, this.#recorded.length - 1)];
    if (recorded === undefined) return false;
    this.#replay(recorded).catch((error: unknown) => this.#fail(error));
    return true;
  }

  async #replay(recorded: Recorded): Promise<void> {
    const { client, server, channel } = recorded;
    this.pending++;
    const path = channel === CONTROL_INDEX ? 0 : channel;
    const dialled = await this.#network.dial(client, server, path, REDIAL_US);
    if (typeof dialled === 'object') {
      const code = await this.#prove(dialled.port, recorded);
      if (code === undefined) this.#fail(new Violation('a recorded ATTACH was taken'));
      dialled.port.close(false);
    }
    this.pending--;
  }

  // ATTACH and its answer; the code of a refusal, or nothing.
  #prove(port: SimPort, name: AttachName): Promise<string | undefined> {
    const { connection } = port;
    const { control } = name;
    return new Promise((resolve) => {
      const answer = (code: string | undefined): void => {
        connection.travel(connection.b, () => resolve(code));
      };
      connection.travel(port, () => this.#attaches.set(connection.b, { ...name, control, answer }));
      this.#time.after(ATTACH_US, () => resolve('ERR_PEER_TIMEOUT'));
    });
  }

  /** The server's main thread looks at a connection whose first message may have come. */
  serve(server: SimNode, port: SimPort): boolean {
    const attach = this.#attaches.get(port);
    if (attach === undefined) return false;
    this.#attaches.delete(port);
    this.#admit(server, port, attach).catch((error: unknown) => this.#fail(error));
    return true;
  }

  async #admit(server: SimNode, port: SimPort, attach: AttachMessage): Promise<void> {
    this.pending++;
    try {
      const session = server.sessions.byId(attach.sessionId);
      if (session === undefined || session.isEnding()) {
        throw new TcpxError('ERR_PEER_STALE_SESSION', 'ATTACH to no open session');
      }
      if (attach.channel === CONTROL_INDEX) {
        this.#admitControl(server, port, session, attach);
        return;
      }
      await server.sessions.makeRoom(session, attach.channel, attach.epoch);
      if (!server.isAlive) return;
      attach.answer(undefined);
      const { channel, epoch } = attach;
      server.sessions.addChannel(session, { channel, epoch, fd: port.fd, nic: '' });
    } catch (error) {
      if (!isTcpxError(error)) throw error;
      attach.answer(error.code);
      port.close(false);
    } finally {
      this.pending--;
    }
  }

  #admitControl(server: SimNode, port: SimPort, session: Session, attach: AttachMessage): void {
    const { control, epoch } = attach;
    server.sessions.assertControl(session, epoch);
    // Somebody else's: there is nothing behind it.
    if (control === undefined) throw new TcpxError('ERR_WIRE_AUTH', 'no proof');
    attach.answer(undefined);
    server.sessions.attachControl(session, control, epoch);
    server.controls.add(control);
    port.close(false);
  }
}

function isDead(node: SimNode): boolean {
  return !node.isAlive;
}

/** The control connection that a session has at the moment. */
export function controlOf(session: Session): SimControl {
  const { control } = session;
  if (control instanceof SimControl) return control;
  throw new Error('not a simulated connection');
}
