// Where a peer is, as people write it: `host`, `host:port`, `10.0.0.7:20000`, `[fd00::7]:20000`,
// `fd00::7`. One reader and one writer for the API, the command line and messages. Pure.

import { isIPv6 } from 'node:net';
import { TcpxError } from './errors.js';

export interface Endpoint {
  /** Name or address, without brackets. */
  readonly host: string;
  /** Absent where the text names none. */
  readonly port?: number;
}

const HOST_CHARACTERS = /^[\p{L}\p{N}_.%-]+$/u;
const HOST_LENGTH_MAX = 253;

export function parseEndpoint(text: string): Endpoint {
  // Several colons and no brackets: an IPv6 literal has no room for a port.
  if (isIPv6(text)) return { host: text };
  if (text.includes('://')) throw refused(text, 'leave out what stands before ://');
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/.exec(text);
  if (bracketed !== null) {
    const [, host = '', port] = bracketed;
    if (!isIPv6(host)) throw refused(text, 'between brackets stands an IPv6 address');
    return withPort(text, host, port);
  }
  const at = text.indexOf(':');
  const host = at < 0 ? text : text.slice(0, at);
  const port = at < 0 ? undefined : text.slice(at + 1);
  if (port?.includes(':') === true) {
    throw refused(text, 'an IPv6 address with a port is written [address]:port');
  }
  if (host.length > HOST_LENGTH_MAX || !HOST_CHARACTERS.test(host)) {
    throw refused(text, 'a host is a name or an address');
  }
  return withPort(text, host, port);
}

/** As parseEndpoint takes it. */
export function formatEndpoint(host: string, port: number): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

function withPort(text: string, host: string, port: string | undefined): Endpoint {
  if (port === undefined) return { host };
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65535) {
    throw refused(text, 'a port is a number up to 65535');
  }
  return { host, port: Number(port) };
}

function refused(text: string, rule: string): TcpxError {
  const shown = JSON.stringify(text.slice(0, HOST_LENGTH_MAX));
  return new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `${shown} is not host, host:port or [v6]:port: ${rule}`,
  );
}
