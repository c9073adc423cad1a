// One process of a mesh from its workers to the end: rank 0 conducts, and takes part by a link in
// its own memory; the others reach it by a session of an engine.

import { hostname } from 'node:os';
import type { Config } from '../../base/config.js';
import { isTcpxError, TcpxError } from '../../base/errors.js';
import type { Log } from '../../base/log.js';
import { Engine, type Session } from '../../engine/internal.js';
import { deriveConfig } from '../derived-config.js';
import { readHostFacts } from '../host-facts.js';
import { ALIKE } from './alike.js';
import { MeshConductor, type MeshConductorOptions, type MeshOutcome } from './mesh-conductor.js';
import { localLinks, type MeshLink, SessionLink } from './mesh-link.js';
import { takePart, tellFailure } from './mesh-member.js';
import { MESH_PROTOCOL, type MeshHello } from './mesh-message.js';
import type { OpenMeshWorkers } from './mesh-workers.js';

export interface MeshOptions
  extends Pick<
    MeshConductorOptions,
    'size' | 'hosts' | 'pairs' | 'isAlone' | 'waitMs' | 'onAssembled' | 'onRound'
  > {
  readonly config: Config;
  readonly log: Log;
  readonly rank: number;
  /** Alike for processes that share a network stack. */
  readonly node: string;
  openWorkers(): Promise<OpenMeshWorkers>;
  /** Where rank 0 is; waits for it to say so where that is not known from the start. */
  findFirst(): Promise<{ readonly host: string; readonly port: number }>;
  /** Rank 0 listens there. */
  onListening?(port: number): Promise<void>;
  /** Resolves when this process shall end before its time: all others end with it. */
  readonly stopped: Promise<TcpxError>;
}

/** The whole outcome at rank 0; at the others whether all is well. */
export function runMesh(options: MeshOptions): Promise<MeshOutcome | boolean> {
  return options.rank === 0 ? conduct(options) : join(options);
}

async function conduct(options: MeshOptions): Promise<MeshOutcome> {
  const { config, size } = options;
  const { host, port } = await options.findFirst();
  const conductor = new MeshConductor({
    ...options,
    firstHost: host,
    version: ownVersion(config),
    terms: termsOf(config),
  });
  const [ownEnd, conductorsEnd] = localLinks();
  conductor.admit(conductorsEnd);
  const engine = size === 1 ? undefined : await listenFor(conductor, options, port);
  const outcome = conductor.run();
  const own = partWith(ownEnd, options);
  // It fails with the mesh, and the mesh with it.
  own.catch(() => undefined);
  try {
    return await outcome;
  } finally {
    await own.catch(() => undefined);
    await engine?.close();
  }
}

async function listenFor(
  conductor: MeshConductor,
  options: MeshOptions,
  port: number,
): Promise<Engine> {
  const links = new Map<Session, SessionLink>();
  const engine = await openControl(options, {
    onSession: (session) => {
      const link = new SessionLink(session);
      links.set(session, link);
      conductor.admit(link);
    },
    onNotification: ({ session, bytes }) => links.get(session)?.receive(bytes),
  });
  try {
    const own = engine.listen({ port });
    await options.onListening?.(own);
    return engine;
  } catch (error) {
    await engine.close();
    throw error;
  }
}

async function join(options: MeshOptions): Promise<boolean> {
  let link: SessionLink | undefined;
  // What is said before this end knows its link.
  const early: Uint8Array[] = [];
  const engine = await openControl(options, {
    onNotification: ({ bytes }) => {
      if (link === undefined) early.push(bytes);
      else link.receive(bytes);
    },
  });
  try {
    const session = await unlessStopped(options, connectFirst(engine, options));
    link = new SessionLink(session);
    for (const bytes of early.splice(0)) link.receive(bytes);
    return await partWith(link, options);
  } finally {
    await engine.close();
  }
}

async function connectFirst(engine: Engine, options: MeshOptions): Promise<Session> {
  const { host, port } = await options.findFirst();
  return engine.connect(host, { port, timeoutMs: options.waitMs });
}

function unlessStopped<T>({ stopped }: MeshOptions, work: Promise<T>): Promise<T> {
  const stop = stopped.then((reason) => {
    throw reason;
  });
  return Promise.race([work, stop]);
}

async function partWith(link: MeshLink, options: MeshOptions): Promise<boolean> {
  let workers: OpenMeshWorkers;
  try {
    workers = await options.openWorkers();
  } catch (error) {
    if (!isTcpxError(error)) throw error;
    const named = new TcpxError(error.code, `rank ${options.rank}: ${error.message}`);
    await tellFailure(link, named, true);
    throw error;
  }
  try {
    return await takePart(link, helloOf(options, workers), workers, options.stopped);
  } finally {
    await workers.close();
  }
}

/** Few words: one lane, no NIC of the data, no plugin. */
const CONTROL = {
  'engine.provider': 'tcp',
  'flow.channels': 1,
  'lane.count': 1,
  'lane.progress': 'lanes',
  'lane.bindings': '',
  'session.nics': '',
  'session.local': 'tcp',
  'session.portIndex': 0,
} as const;

function openControl(
  { config, log, rank }: MeshOptions,
  listeners: Pick<NonNullable<Parameters<typeof Engine.open>[0]>, 'onSession' | 'onNotification'>,
): Promise<Engine> {
  const own = deriveConfig(config, CONTROL, 'mesh');
  return Engine.open({ name: `mesh-rank-${rank}`, config: own, log, ...listeners });
}

function helloOf({ config, rank, size, node }: MeshOptions, { facts }: OpenMeshWorkers): MeshHello {
  const version = ownVersion(config);
  const terms = termsOf(config);
  const who = { rank, size, hostname: hostname(), node };
  return { kind: 'hello', protocol: MESH_PROTOCOL, version, ...who, terms, workers: facts };
}

function ownVersion({ values }: Config): string {
  return readHostFacts(values['socket.congestion']).version;
}

function termsOf({ values }: Config): Record<string, string> {
  const names = [...ALIKE, 'engine.provider'] as const;
  return Object.fromEntries(names.map((name) => [name, String(values[name])]));
}
