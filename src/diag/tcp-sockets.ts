// Established TCP sockets per NIC and who holds them, from /proc/net/tcp and the processes' file
// descriptors. Addresses there are hexadecimal words in host byte order.

import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { HostFiles } from '../host/read/host-files.js';
import type { Nic } from '../host/read/model.js';
import type { SocketFacts } from './facts.js';

const ESTABLISHED = '01';

export interface OpenSocket {
  readonly address: string;
  readonly inode: string;
}

/** Established sockets of /proc/net/tcp with their local IPv4 address. */
export function parseTcpTable(text: string): readonly OpenSocket[] {
  const sockets: OpenSocket[] = [];
  for (const line of text.split('\n').slice(1)) {
    const words = line.trim().split(/\s+/);
    if (words[3] !== ESTABLISHED) continue;
    const hex = words[1]?.split(':')[0] ?? '';
    sockets.push({ address: decodeAddress(hex), inode: words[9] ?? '' });
  }
  return sockets;
}

function decodeAddress(hex: string): string {
  const bytes = hex.match(/../g) ?? [];
  return bytes
    .map((byte) => Number.parseInt(byte, 16))
    .reverse()
    .join('.');
}

/** undefined when sockets, or the addresses that tell their NIC, cannot be read. */
export function countSockets(files: HostFiles, nics: readonly Nic[]): SocketFacts[] | undefined {
  const text = files.read('/proc/net/tcp');
  if (text === undefined || nics.every((nic) => nic.addresses === undefined)) return undefined;
  const sockets = parseTcpTable(text);
  const perNic = nics.map((nic) => {
    const own = new Set((nic.addresses ?? []).map(({ address }) => address));
    return { nic, inodes: sockets.filter((s) => own.has(s.address)).map((s) => s.inode) };
  });
  const wanted = new Set(perNic.flatMap(({ inodes }) => inodes));
  const holderOf = wanted.size === 0 ? new Map<string, Holder>() : findHolders(files, wanted);
  return perNic.map(({ nic, inodes }) => {
    const held = inodes.map((inode) => holderOf.get(inode));
    const ofPlugin = held.flatMap((holder) => (holder?.hasPlugin === true ? [holder.text] : []));
    return {
      nic: nic.name,
      count: ofPlugin.length,
      holders: [...new Set(ofPlugin)],
      otherCount: held.filter((holder) => holder?.hasPlugin === false).length,
      unknownCount: held.filter((holder) => holder?.hasPlugin === undefined).length,
    };
  });
}

interface Holder {
  /** `pid name`. */
  readonly text: string;
  /** Whether it has loaded the plugin; undefined when its mappings cannot be read. */
  readonly hasPlugin: boolean | undefined;
}

/** Which process holds a socket, by inode. Others' processes are not readable. */
function findHolders(files: HostFiles, wanted: ReadonlySet<string>): Map<string, Holder> {
  const holders = new Map<string, Holder>();
  for (const pid of files.list('/proc').filter((name) => /^\d+$/.test(name))) {
    const folder = join(files.root, 'proc', pid, 'fd');
    let holder: Holder | undefined;
    for (const fd of attempt(() => readdirSync(folder)) ?? []) {
      const target = attempt(() => readlinkSync(join(folder, fd))) ?? '';
      const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
      if (inode === undefined || !wanted.has(inode)) continue;
      holder ??= describeHolder(files, pid);
      holders.set(inode, holder);
    }
  }
  return holders;
}

// The plugin is a shared library of a known name, in the process that opened the socket.
const PLUGIN_LIBRARY = /\/libnccl-net[^/\s]*\.so/;

function describeHolder(files: HostFiles, pid: string): Holder {
  const maps = files.read(`/proc/${pid}/maps`);
  return {
    text: `${pid} ${files.read(`/proc/${pid}/comm`)?.trim() ?? '?'}`,
    hasPlugin: maps === undefined ? undefined : PLUGIN_LIBRARY.test(maps),
  };
}

function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
