// A file of nodes, one in a line: the address of each, as UCCL's `node_ips` files and the host
// files of mpirun have it (`10.0.0.1 slots=8`). `#` begins a comment. Pure.

import { isIPv6 } from 'node:net';
import { parseEndpoint } from '../../base/endpoint.js';
import { isTcpxError, TcpxError } from '../../base/errors.js';

export interface MeshNode {
  /** Name or address, without brackets. */
  readonly host: string;
  readonly line: number;
  /** Processes that mpirun may start there; absent where the file does not say. */
  readonly slots?: number;
}

const NODES_MAX = 1024;
/** Words of a host file behind the host; none but the first means anything here. */
const SLOTS = /^(slots|max_slots|max-slots)=(\d{1,5})$/;

export function parseNodeList(text: string, path: string): MeshNode[] {
  const nodes: MeshNode[] = [];
  for (const [index, row] of text.split(/\r?\n/).entries()) {
    const words = row.replace(/#.*$/, '').trim().split(/\s+/).filter(Boolean);
    if (words.length > 0) nodes.push(nodeOf(words, index + 1, path));
  }
  if (nodes.length === 0) throw refused(path, 'names no node');
  if (nodes.length > NODES_MAX) {
    throw refused(path, `names ${nodes.length} nodes, at most ${NODES_MAX}`);
  }
  for (const node of nodes) checkOnce(nodes, node, path);
  return nodes;
}

function nodeOf([word = '', ...rest]: readonly string[], line: number, path: string): MeshNode {
  const place = `${path} line ${line}`;
  const host = hostOf(word, place);
  let slots: number | undefined;
  for (const more of rest) {
    const match = SLOTS.exec(more);
    if (match === null) {
      throw refused(place, `${JSON.stringify(more)} behind the host: slots=N may stand there`);
    }
    if (match[1] === 'slots') slots = Number(match[2]);
  }
  return slots === undefined ? { host, line } : { host, line, slots };
}

function hostOf(word: string, place: string): string {
  // It names another link at every host.
  if (word.includes('%') || /^\[?fe80:/i.test(word)) {
    throw refused(place, `${word} is of one link only: give an address that every node can reach`);
  }
  if (word.includes('@')) {
    throw refused(place, `${word}: a host without a user, nothing is started over ssh`);
  }
  try {
    const { host, port } = parseEndpoint(word);
    if (port !== undefined) throw refused(place, `${word}: a host without a port (--port has it)`);
    return isIPv6(host) ? canonicalV6(host) : host.toLowerCase();
  } catch (error) {
    if (!isTcpxError(error) || error.message.startsWith(place)) throw error;
    throw refused(place, `${JSON.stringify(word)} is no address and no host name`);
  }
}

/** `fd00:0::1` and `FD00::1` are one node. */
function canonicalV6(host: string): string {
  return new URL(`http://[${host}]`).hostname.slice(1, -1);
}

function checkOnce(nodes: readonly MeshNode[], { host, line }: MeshNode, path: string): void {
  const first = nodes.find((node) => node.host === host);
  if (first === undefined || first.line === line) return;
  throw refused(`${path} line ${line}`, `${host} stands on line ${first.line} already`);
}

function refused(place: string, rule: string): TcpxError {
  return new TcpxError('ERR_USAGE_ARGUMENT', `${place}: ${rule}`);
}

/** An address that means this host, wherever it is said. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
