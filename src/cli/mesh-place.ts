// Which process of a mesh this one is, and where rank 0 is: flags, then variables of a launcher,
// then this node's line in a list of nodes; without any of them the mesh is this machine alone.

import { lookup } from 'node:dns/promises';
import { readlinkSync } from 'node:fs';
import { hostname, networkInterfaces } from 'node:os';
import { processEnvironment } from '../base/config.js';
import { parseEndpoint } from '../base/endpoint.js';
import { launchPlace } from '../bench/mesh/launcher.js';
import { isLoopbackHost, type MeshNode, parseNodeList } from '../bench/mesh/node-list.js';
import { type Command, type Invocation, usageError } from './command.js';
import { readTextFile } from './environment-source.js';
import { countFlag } from './irq-host.js';
import { checkMeetingPort, meetingPort } from './mesh-ports.js';

export interface MeshPlace {
  readonly rank: number;
  readonly size: number;
  readonly localRank: number;
  readonly localSize: number;
  /** How the place is known, for people. */
  readonly source: string;
  /** Of each rank, where the list of nodes is a list of ranks. */
  readonly hosts: readonly string[] | undefined;
  /** Alike for processes that share a network stack. */
  readonly node: string;
  readonly rendezvous: Rendezvous;
}

export type Rendezvous =
  | { readonly kind: 'host'; readonly host: string; readonly port: number }
  | { readonly kind: 'etcd'; readonly job: string };

const LOOPBACK = '127.0.0.1';

export async function meshPlace(command: Command, invocation: Invocation): Promise<MeshPlace> {
  const path = invocation.text('nodes');
  const nodes =
    path === undefined ? undefined : parseNodeList(readTextFile(path, `nodes ${path}`), path);
  const place = await placeOf(command, invocation, nodes);
  const { hosts, size } = place;
  if (hosts !== undefined && hosts.length !== size) {
    throw usageError(command, `--ranks ${size}, but ${path ?? ''} names ${hosts.length} nodes`);
  }
  const { firstHost, job, ...rest } = place;
  const known = firstHost ?? nodes?.[0]?.host;
  return {
    ...rest,
    // Namespaces and containers of one machine may have one host name.
    node: hosts?.[rest.rank] ?? `${hostname()} ${networkNamespace()}`,
    rendezvous: rendezvousOf(command, invocation, place, known, job),
  };
}

type RawPlace = Omit<MeshPlace, 'node' | 'rendezvous'> & {
  readonly firstHost?: string | undefined;
  readonly job?: string | undefined;
};

async function placeOf(
  command: Command,
  invocation: Invocation,
  nodes: readonly MeshNode[] | undefined,
): Promise<RawPlace> {
  const hosts = nodes?.map(({ host }) => host);
  const alone = { localRank: 0, localSize: 1 };
  if (invocation.text('rank') !== undefined || invocation.text('ranks') !== undefined) {
    const rank = countFlag(invocation, 'rank', 0);
    const size = countFlag(invocation, 'ranks', nodes?.length ?? 0, 1);
    const isWhole = invocation.text('rank') !== undefined && size > 0;
    if (!isWhole) throw usageError(command, '--rank needs --ranks or --nodes, and they --rank');
    if (rank >= size) throw usageError(command, `--rank ${rank} of ${size}: from 0 to ${size - 1}`);
    return { rank, size, ...alone, source: '--rank', hosts };
  }
  const launched = launchPlace(processEnvironment());
  // A list behind a launcher is its host file: it says where rank 0 is, not who is which rank.
  if (launched !== undefined) return { ...launched, source: launched.launcher, hosts: undefined };
  if (nodes === undefined) return { rank: 0, size: 1, ...alone, source: 'alone', hosts };
  const rank = await ownNode(command, nodes);
  return { rank, size: nodes.length, ...alone, source: 'list of nodes', hosts };
}

/** The line of the list that is this machine. */
async function ownNode(command: Command, nodes: readonly MeshNode[]): Promise<number> {
  const own = new Set(
    Object.values(networkInterfaces()).flatMap((list) => list?.map(({ address }) => address) ?? []),
  );
  const name = hostname().toLowerCase();
  const isOwn = await Promise.all(
    nodes.map(async ({ host }) => {
      if (own.has(host) || host === name || host.split('.')[0] === name) return true;
      const found = await lookup(host, { all: true }).catch(() => []);
      return found.some(({ address }) => own.has(address));
    }),
  );
  const matching = [...isOwn.keys()].filter((index) => isOwn[index] === true);
  const [first] = matching;
  if (first !== undefined && matching.length === 1) return first;
  const what = matching.length === 0 ? 'none of the nodes is' : 'several of the nodes are';
  throw usageError(command, `${what} this machine (${name}): say which with --rank`);
}

function networkNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/net');
  } catch {
    return '';
  }
}

function rendezvousOf(
  command: Command,
  invocation: Invocation,
  { localSize, size }: RawPlace,
  known: string | undefined,
  job: string | undefined,
): Rendezvous {
  const { values } = invocation.config;
  const text = invocation.text('rendezvous');
  if (text === 'etcd') return etcdRendezvous(command, invocation, job);
  const asked = text === undefined ? undefined : parseEndpoint(text);
  const host = asked?.host ?? known ?? (localSize === size ? LOOPBACK : undefined);
  if (host === undefined) {
    throw usageError(
      command,
      'where is rank 0? --rendezvous HOST:PORT, --nodes FILE (mpirun’s host file) or MASTER_ADDR',
    );
  }
  const port = asked?.port ?? firstPort(command, values['session.port'], size);
  if (port === 0 && size > 1) {
    throw usageError(command, '--port 0 needs --rendezvous HOST:PORT: rank 0 must be found');
  }
  if (size > 1 && !isLoopbackHost(host)) requireTrust(command, invocation);
  return { kind: 'host', host, port };
}

function firstPort(command: Command, base: number, size: number): number {
  if (size > 1) checkMeetingPort(command, base);
  return meetingPort(base);
}

function etcdRendezvous(
  command: Command,
  invocation: Invocation,
  job: string | undefined,
): Rendezvous {
  const name = invocation.text('job') ?? job;
  if (name === undefined || !/^[\w.:-]{1,128}$/.test(name)) {
    throw usageError(command, '--rendezvous etcd needs --job NAME, alike for all, new every time');
  }
  if (invocation.config.values['nixl.etcdEndpoints'] === '') {
    throw usageError(command, '--rendezvous etcd needs NIXL_ETCD_ENDPOINTS');
  }
  requireTrust(command, invocation);
  return { kind: 'etcd', job: name };
}

/** Rank 0 would listen on loopback alone, and nobody would know why nobody comes. */
function requireTrust(command: Command, { config }: Invocation): void {
  const { 'trust.mode': trust, 'trust.secret': secret, 'trust.secretFile': file } = config.values;
  if (trust === 'network' || secret !== '' || file !== '') return;
  throw usageError(
    command,
    'the same secret is needed on every node: NIXL_TCPX_TRUST_SECRET (mpirun -x ' +
      'NIXL_TCPX_TRUST_SECRET) or --secret-file; or --trust network',
  );
}
