// The congestion control of a connection, by its name in the kernel.
//
// BBR paces by timers. Between near hosts the timers, not the link, set the rate, and the more
// connections there are the lower it gets. Where nobody has chosen, and BBR is the host's default,
// connections begin without pacing, and those to far peers get BBR once their way is known.

import { readFileSync } from 'node:fs';
import { closeFd } from '../ffi/libc/file-descriptor.js';
import { checkCall } from '../ffi/libc/library.js';
import {
  IPPROTO_TCP,
  openStreamSocket,
  setSocketText,
  TCP_CONGESTION,
} from '../ffi/libc/socket.js';
import { readTcpInfo, type TcpInfo } from '../ffi/libc/tcp-info.js';

/** Values of `socket.congestion` besides names of the kernel. */
export const CONGESTION_AUTO = 'auto';
const CONGESTION_KERNEL = 'kernel';

/** What the names of those that pace begin with. */
export const PACED = 'bbr';
const UNPACED = ['cubic', 'reno'];
/** Beyond it a path has queues worth pacing for. */
const FAR_US = 1000;

export interface CongestionChoice {
  /** For connections as they begin; empty leaves the kernel's default. */
  readonly begin: string;
  /** For connections whose peer has turned out to be far; empty changes nothing. */
  readonly far: string;
  /** Why, for people; empty where a name was given. */
  readonly reason: string;
}

/** `isAllowed`: whether this process may choose the name. Pure. */
export function chooseCongestion(
  setting: string,
  kernelDefault: string,
  isAllowed: (name: string) => boolean,
): CongestionChoice {
  if (setting === CONGESTION_KERNEL || setting === '') {
    return { begin: '', far: '', reason: `the kernel's default, ${kernelDefault}` };
  }
  if (setting !== CONGESTION_AUTO) return { begin: setting, far: '', reason: '' };
  if (!kernelDefault.startsWith(PACED)) {
    return { begin: '', far: '', reason: `the kernel's default, ${kernelDefault}` };
  }
  const begin = UNPACED.find((name) => isAllowed(name));
  if (begin === undefined) {
    const remedy = `add ${UNPACED.join(' or ')} to net.ipv4.tcp_allowed_congestion_control`;
    const cost = `${kernelDefault} paces near peers too, which costs a third over loopback`;
    return { begin: '', far: '', reason: `${cost}; ${remedy}` };
  }
  const reason = `${begin} to peers nearer than ${FAR_US / 1000} ms, else ${kernelDefault}`;
  return { begin, far: kernelDefault, reason };
}

/** What the setting names; empty where it leaves the choice to the kernel or to us. Pure. */
export function namedCongestion(setting: string): string {
  return setting === CONGESTION_AUTO || setting === CONGESTION_KERNEL ? '' : setting;
}

/** As this host and the rights of this process have it. */
export function congestionHere(setting: string): CongestionChoice {
  return chooseCongestion(setting, kernelCongestion(), isCongestionAllowed);
}

/** `unknown` where it cannot be read. */
export function kernelCongestion(): string {
  try {
    return readFileSync('/proc/sys/net/ipv4/tcp_congestion_control', 'utf8').trim();
  } catch {
    return 'unknown';
  }
}

function isCongestionAllowed(name: string): boolean {
  const fd = openStreamSocket('127.0.0.1');
  const result = setSocketText(fd, IPPROTO_TCP, TCP_CONGESTION, name);
  closeFd(fd);
  return result === 0;
}

/**
 * Before the connection exists, so of a listener for those that it accepts: a connection that has
 * begun with BBR is paced by timers for the rest of its life, whatever it is told later.
 */
export function setCongestion(fd: number, name: string): void {
  if (name === '') return;
  checkCall(
    'setsockopt TCP_CONGESTION',
    name,
    setSocketText(fd, IPPROTO_TCP, TCP_CONGESTION, name),
  );
}

/** Of a connection that exists: its first round trip tells how far the peer is. */
export function settleCongestion(fd: number, { far }: CongestionChoice): void {
  if (far !== '' && isFar(readTcpInfo(fd))) setCongestion(fd, far);
}

/** Pure. */
export function isFar(info: Pick<TcpInfo, 'rttMinUs' | 'rttUs'>): boolean {
  return roundTripOf(info) >= FAR_US;
}

/** Pure. The least round trip counts, unless the kernel has no sample of it: all ones. */
export function roundTripOf({ rttMinUs, rttUs }: Pick<TcpInfo, 'rttMinUs' | 'rttUs'>): number {
  const isLeastKnown = rttMinUs !== undefined && rttMinUs > 0 && rttMinUs < 2 ** 31;
  return isLeastKnown ? rttMinUs : rttUs;
}

/** How far the other end of a connection is, in µs. */
export function roundTripUs(fd: number): number {
  return roundTripOf(readTcpInfo(fd));
}
