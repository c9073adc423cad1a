// How an engine is reached, as text that travels in metadata or by hand. Pure, and versioned:
//
//   tcpx-conn/1 instance=0123456789abcdef port=40123 hosts=10.0.0.7,fd00::7
//
// From a peer the text is hostile: addresses alone are taken, no names, so that nobody makes us
// ask a name server; unknown keys are left for later versions.

import { isIP } from 'node:net';
import type { NetworkInterfaceInfo } from 'node:os';
import { checkList, checkPort, checkRecord, checkText, wrongArgument } from '../base/argument.js';
import { TcpxError } from '../base/errors.js';

const CONN_INFO_VERSION = 'tcpx-conn/1';
export const CONN_INFO_BYTES_MAX = 4096;
const CONN_INFO_HOSTS_MAX = 16;

/** Where an engine can be reached; plain data, to be sent to those who connect. */
export interface ConnInfo {
  /** 16 hexadecimal digits, new at every start of the engine. */
  readonly instance: string;
  /** Port of control and data connections. */
  readonly port: number;
  /** Addresses in the order in which they should be tried. */
  readonly hosts: readonly string[];
}

/** As a text that `parseConnInfo` reads. */
export function formatConnInfo(info: ConnInfo): string {
  checkRecord('formatConnInfo: info', info);
  const { instance, port, hosts } = info;
  checkText('formatConnInfo: instance', instance);
  checkPort('formatConnInfo: port', port);
  checkList('formatConnInfo: hosts', hosts);
  for (const host of hosts) checkText('formatConnInfo: a host', host);
  return `${CONN_INFO_VERSION} instance=${instance} port=${port} hosts=${hosts.join(',')}`;
}

/** Throws `ERR_WIRE_METADATA` for a text that `formatConnInfo` did not make. */
export function parseConnInfo(text: string): ConnInfo {
  if (typeof text !== 'string') throw wrongArgument('connection info', 'a text', text);
  if (text.length > CONN_INFO_BYTES_MAX) throw refused(`it is ${text.length} bytes long`);
  if (!/^[\x20-\x7e]+$/.test(text)) throw refused('it holds something else than printable ASCII');
  const [version, ...fields] = text.split(' ');
  if (version !== CONN_INFO_VERSION) throw refused(`it does not start with ${CONN_INFO_VERSION}`);
  const values = new Map<string, string>();
  for (const field of fields) {
    const at = field.indexOf('=');
    if (at <= 0) throw refused('a field is not key=value');
    const key = field.slice(0, at);
    if (values.has(key)) throw refused(`${key} comes twice`);
    values.set(key, field.slice(at + 1));
  }
  const instance = values.get('instance') ?? '';
  if (!/^[0-9a-f]{16}$/.test(instance)) throw refused('instance is not 16 hex digits');
  const port = values.get('port') ?? '';
  if (!/^[1-9]\d{0,4}$/.test(port) || Number(port) > 65535) throw refused('port is not a port');
  return { instance, port: Number(port), hosts: parseHosts(values.get('hosts') ?? '') };
}

function parseHosts(text: string): string[] {
  const hosts = text.split(',');
  if (hosts.length > CONN_INFO_HOSTS_MAX) throw refused(`${hosts.length} hosts are too many`);
  if (!hosts.every((host) => isIP(host) !== 0)) throw refused('hosts are not all addresses');
  return hosts;
}

function refused(rule: string): TcpxError {
  return new TcpxError('ERR_WIRE_METADATA', `connection info: ${rule}`, { facts: { rule } });
}

type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

/**
 * Addresses to offer for a listener. One that listens everywhere is reached by every address of
 * the machine (or of the control interface, where one is set) that is not link-local: IPv4 first.
 */
export function offeredHosts(bound: string, nic: string, interfaces: Interfaces): string[] {
  if (bound !== '::' && bound !== '0.0.0.0') return [bound];
  const entries = Object.entries(interfaces)
    .filter(([name]) => nic === '' || name === nic)
    .flatMap(([, addresses]) => addresses ?? [])
    .filter((entry) => !entry.internal && !/^(fe80|169\.254)/i.test(entry.address))
    .filter((entry) => bound === '::' || entry.family === 'IPv4');
  const byFamily = (family: string) => entries.filter((entry) => entry.family === family);
  const hosts = [...byFamily('IPv4'), ...byFamily('IPv6')].map((entry) => entry.address);
  return hosts.length === 0 ? ['127.0.0.1'] : hosts.slice(0, CONN_INFO_HOSTS_MAX);
}
