// `bench mesh server [GPU]` and `bench mesh client HOST [GPU]`, as UCCL's full-mesh runs are
// started: two nodes, GPU by GPU, towards the server, which conducts; the client has its address.

import { networkInterfaces } from 'node:os';
import { formatEndpoint } from '../base/endpoint.js';
import { ALIKE } from '../bench/mesh/alike.js';
import { clientLine, reachableAddress } from './client-line.js';
import { type Command, type Invocation, usageError } from './command.js';
import { type MeshPlace, meshPlace } from './mesh-place.js';
import { checkMeetingPort, meetingPort } from './mesh-ports.js';
import { formatShellLine, printCodeNote, printNote } from './print.js';
import { ownProgram, secretNote, withSecret } from './server-secret.js';

export interface MeshRole {
  readonly name: 'server' | 'client';
  /** The server, as the client knows it; an address of its own at the server. */
  readonly host: string;
  /** As --gpus takes them; undefined for all. */
  readonly gpus: string | undefined;
}

const OF_RANKS = ['nodes', 'rank', 'ranks', 'rendezvous', 'job', 'pairs'] as const;

/** Undefined where the mesh is one of ranks. */
export function meshRole(command: Command, invocation: Invocation): MeshRole | undefined {
  const [name, ...words] = invocation.positionals;
  if (name === undefined) return undefined;
  const flag = OF_RANKS.find((one) => invocation.text(one) !== undefined);
  if (flag !== undefined) throw usageError(command, `--${flag} is of a mesh without ${name}`);
  checkBase(command, invocation.config.values['session.port']);
  if (name === 'server' && words.length <= 1) {
    const { 'session.bind': bind, 'session.ctrlInterface': control } = invocation.config.values;
    return { name, host: reachableAddress(bind, control, networkInterfaces()), gpus: words[0] };
  }
  const [host = '', gpus] = words;
  if (name === 'client' && host !== '') return { name, host, gpus };
  throw usageError(command, `${invocation.positionals.join(' ')}: server [GPU], client HOST [GPU]`);
}

/** Before a server prints where it is. */
function checkBase(command: Command, base: number): void {
  if (base === 0) throw usageError(command, '--port 0: the other node could not know where to go');
  checkMeetingPort(command, base);
}

/** With a secret, which a server makes and prints where nobody gave it one. */
export function inRole(invocation: Invocation, { name, host, gpus }: MeshRole): Invocation {
  const text = (flag: string) => (flag === 'gpus' ? gpus : undefined) ?? invocation.text(flag);
  if (name === 'client') return { ...invocation, text };
  const { config, secret } = withSecret(invocation.config);
  const command = ['mesh', 'client'];
  const port = config.values['session.port'];
  const facts = { program: ownProgram(), host, port, secret, config: invocation.config };
  const line = clientLine({ ...facts, hasGpu: false, command, alike: ALIKE });
  const asked = text('gpus');
  const more = [
    ...(asked === undefined ? [] : ['--gpus', asked.trim().split(/\s+/).join()]),
    ...(invocation.has('performance') ? ['--performance'] : []),
  ];
  const note = secretNote(invocation.config);
  if (note !== undefined) printNote(note);
  printNote('on the other node run');
  printCodeNote(`${formatShellLine(`  ${[line, ...more].join(' ')}`)}\n`);
  return { ...invocation, config, text };
}

export async function placeInRole(
  command: Command,
  invocation: Invocation,
  { name, host }: MeshRole,
): Promise<MeshPlace> {
  const port = meetingPort(invocation.config.values['session.port']);
  const flags = new Map([
    ['rank', name === 'server' ? '0' : '1'],
    ['ranks', '2'],
    ['rendezvous', formatEndpoint(host, port)],
  ]);
  const text = (flag: string) => flags.get(flag) ?? invocation.text(flag);
  const place = await meshPlace(command, { ...invocation, text });
  // Two nodes, also where one machine plays both.
  return { ...place, source: name, node: name };
}
