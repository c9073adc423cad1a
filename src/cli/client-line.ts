// The command line that a benchmark server prints for the other node: complete, and it works as
// printed. Pure.

import type { NetworkInterfaceInfo } from 'node:os';
import type { Config } from '../base/config.js';
import { environmentName, type SettingName } from '../base/settings.js';
import { flagOf } from './command.js';

type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

/** Bridges between containers or virtual machines of one host. */
const BRIDGE = /^(docker|br-|virbr|veth|cni|flannel|cali|lxc|ifb)/;

/**
 * An address of this host that the other one can most likely reach: what it is bound to, that of
 * the control interface, else of the first interface that leads out. A name could resolve to
 * loopback there.
 */
export function reachableAddress(bind: string, control: string, interfaces: Interfaces): string {
  if (bind !== '' && bind !== '0.0.0.0' && bind !== '::') return bind;
  const names = Object.keys(interfaces);
  const order = [
    ...names.filter((name) => name === control),
    ...names.filter((name) => name !== control && !BRIDGE.test(name)),
    ...names.filter((name) => BRIDGE.test(name)),
  ];
  const addresses = order
    .flatMap((name) => interfaces[name] ?? [])
    .filter(({ internal, address }) => !internal && !address.startsWith('fe80:'));
  const first = addresses.find(({ family }) => family === 'IPv4') ?? addresses[0];
  return first?.address ?? '127.0.0.1';
}

export interface ClientLineFacts {
  /** `tcpx`, or `npx tcpx`. */
  readonly program: string;
  readonly host: string;
  /** That the server listens on. */
  readonly port: number;
  /** Made for this run. */
  readonly secret: string | undefined;
  readonly config: Config;
  /** The server was told its GPU by a word. */
  readonly hasGpu: boolean;
  /** Its words after `bench`; `client` by default. */
  readonly command?: readonly string[];
  /** Settings that this command must have alike besides. */
  readonly alike?: readonly SettingName[];
}

/** What the two ends must have alike. */
const ALIKE: readonly SettingName[] = [
  'engine.provider',
  'plugin.path',
  'session.local',
  'session.nics',
  'trust.mode',
  'trust.secretFile',
];

export function clientLine({
  program,
  host,
  port,
  secret,
  config,
  hasGpu,
  command = ['client'],
  alike = [],
}: ClientLineFacts): string {
  const { values, effective } = config;
  const words = [...program.split(' '), 'bench', ...command, host];
  if (hasGpu) words.push(String(values['bench.gpu']));
  // The client adds the index to the port as the server did.
  const index = hasGpu ? values['session.portIndex'] : 0;
  words.push('--port', String(port - index));
  for (const { name, value, origin } of effective) {
    const isAlike = ALIKE.includes(name) || alike.includes(name);
    // Defaults of a form or of a mesh are those of the other end too.
    if (isAlike && !origin.startsWith('default')) words.push(`--${flagOf(name)}`, String(value));
  }
  const line = words.map(quote).join(' ');
  return secret === undefined ? line : `${environmentName('trust.secret')}=${secret} ${line}`;
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
