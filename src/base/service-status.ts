// What the calls of the C library answer with, and which of our error codes become which of these
// numbers. include/tcpx_p2p.h repeats the numbers; a test compares the two.

import { type ErrorCode, TcpxError } from './errors.js';

interface StatusEntry {
  readonly number: number;
  readonly meaning: string;
}

function status(number: number, meaning: string): StatusEntry {
  return { number, meaning };
}

export const SERVICE_STATUSES = {
  OK: status(0, 'done'),
  IN_PROGRESS: status(1, 'not finished yet'),
  ERR_ARGUMENT: status(-1, 'an argument is missing, malformed or out of range'),
  ERR_STATE: status(-2, 'not allowed in this state'),
  ERR_NOT_FOUND: status(-3, 'no such peer, memory, region or request'),
  ERR_NOT_SUPPORTED: status(-4, 'not offered by this service or this build'),
  ERR_LIMIT: status(-5, 'a quota of the service is used up'),
  ERR_BUSY: status(-6, 'in use; try again later'),
  ERR_TIMEOUT: status(-7, 'the time given is over'),
  ERR_CANCELLED: status(-8, 'cancelled by its owner'),
  ERR_DEADLINE: status(-9, 'not finished by its deadline'),
  ERR_PEER_LOST: status(-10, 'the peer is gone or cannot be reached'),
  ERR_PEER_REFUSED: status(-11, 'the peer answered and refused'),
  ERR_ACCESS: status(-12, 'the region at the peer is stale, out of bounds or grants no such right'),
  ERR_TRANSFER: status(-13, 'the transfer failed; bytes may have landed in part'),
  ERR_MEMORY: status(-14, 'the service cannot reach this memory'),
  ERR_DEVICE: status(-15, 'a GPU or its driver is missing or failed'),
  ERR_NO_SERVICE: status(-16, 'no service answers at this path'),
  ERR_SERVICE_GONE: status(-17, 'the service has ended, or has let this client go'),
  ERR_VERSION: status(-18, 'library and service speak different versions'),
  ERR_PROTOCOL: status(-19, 'the client broke the rules of its ring or socket and was let go'),
  ERR_PERMISSION: status(-20, 'the system or the service does not allow it'),
  ERR_FORKED: status(-21, 'this process is a fork of the one that opened the session'),
  ERR_SYSTEM: status(-22, 'a system call failed'),
  ERR_FULL: status(-23, 'the ring is full; the service has not kept up'),
} as const;

export type ServiceStatusName = keyof typeof SERVICE_STATUSES;

export function serviceStatus(name: ServiceStatusName): number {
  return SERVICE_STATUSES[name].number;
}

const OF_CODE: Readonly<Partial<Record<ErrorCode, ServiceStatusName>>> = {
  ERR_USAGE_ARGUMENT: 'ERR_ARGUMENT',
  ERR_USAGE_STATE: 'ERR_STATE',
  ERR_USAGE_REGION_BUSY: 'ERR_BUSY',
  ERR_USAGE_NOT_FOUND: 'ERR_NOT_FOUND',
  ERR_USAGE_NOT_SUPPORTED: 'ERR_NOT_SUPPORTED',
  ERR_CONFIG_VALUE: 'ERR_ARGUMENT',
  ERR_CONFIG_CONFLICT: 'ERR_ARGUMENT',
  ERR_CONFIG_MISMATCH: 'ERR_PEER_REFUSED',
  ERR_CAP_QUOTA: 'ERR_LIMIT',
  ERR_CAP_CLIENT_MEMORY: 'ERR_MEMORY',
  ERR_CAP_PERMISSION: 'ERR_PERMISSION',
  ERR_CAP_GPU: 'ERR_DEVICE',
  ERR_CUDA_CALL: 'ERR_DEVICE',
  ERR_SYS_CALL: 'ERR_SYSTEM',
  ERR_SYS_ADDRESS_IN_USE: 'ERR_BUSY',
  ERR_WIRE_VERSION: 'ERR_VERSION',
  ERR_WIRE_FRAME: 'ERR_PROTOCOL',
  ERR_WIRE_METADATA: 'ERR_ARGUMENT',
  ERR_WIRE_AUTH: 'ERR_PEER_REFUSED',
  ERR_PEER_UNREACHABLE: 'ERR_PEER_LOST',
  ERR_PEER_TIMEOUT: 'ERR_PEER_LOST',
  ERR_PEER_LOST: 'ERR_PEER_LOST',
  ERR_PEER_GOODBYE: 'ERR_PEER_LOST',
  ERR_PEER_STALE_SESSION: 'ERR_PEER_LOST',
  ERR_PEER_REFUSED: 'ERR_PEER_REFUSED',
  ERR_PEER_UNTRUSTED: 'ERR_PEER_REFUSED',
  ERR_PEER_STALE_REGION: 'ERR_ACCESS',
  ERR_PEER_KEY: 'ERR_ACCESS',
  ERR_PEER_RIGHTS: 'ERR_ACCESS',
  ERR_PEER_BOUNDS: 'ERR_ACCESS',
  ERR_PEER_EXPIRED: 'ERR_ACCESS',
  ERR_XFER_CANCELLED: 'ERR_CANCELLED',
  ERR_XFER_DEADLINE: 'ERR_DEADLINE',
  ERR_XFER_DEVICE: 'ERR_MEMORY',
};

/** A transfer that failed has the number of what made it fail. */
export function serviceStatusOf(error: unknown): number {
  if (!(error instanceof TcpxError)) return serviceStatus('ERR_TRANSFER');
  const { code, cause } = error;
  if (code === 'ERR_XFER_FAILED' && cause instanceof TcpxError) {
    const isEndedHere = cause.code === 'ERR_USAGE_STATE' || cause.code === 'ERR_XFER_CANCELLED';
    return isEndedHere ? serviceStatus('ERR_CANCELLED') : serviceStatusOf(cause);
  }
  return serviceStatus(OF_CODE[code] ?? 'ERR_TRANSFER');
}
