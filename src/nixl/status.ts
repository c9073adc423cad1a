// NIXL's status numbers, and the one table from our error codes to them (exhaustive by type).
// Data-path verbs return these numbers; all others throw a TcpxError that maps to one of them.

import { wrongArgument } from '../base/argument.js';
import { type ErrorCode, type ErrorFacts, TcpxError } from '../base/errors.js';

/** NIXL's status codes. */
export const NixlStatus = Object.freeze({
  IN_PROG: 1,
  SUCCESS: 0,
  ERR_NOT_POSTED: -1,
  ERR_INVALID_PARAM: -2,
  ERR_BACKEND: -3,
  ERR_NOT_FOUND: -4,
  ERR_MISMATCH: -5,
  ERR_NOT_ALLOWED: -6,
  ERR_REPOST_ACTIVE: -7,
  ERR_UNKNOWN: -8,
  ERR_NOT_SUPPORTED: -9,
  ERR_REMOTE_DISCONNECT: -10,
  ERR_CANCELED: -11,
  ERR_NO_TELEMETRY: -12,
} as const);

const S = NixlStatus;

/** Names of NIXL's status codes, without their prefix. */
export type NixlStatusName = keyof typeof NixlStatus;
export type NixlStatus = (typeof NixlStatus)[NixlStatusName];

const STATUS_NAMES = new Map<number, NixlStatusName>(
  Object.entries(NixlStatus).map(([name, value]) => [value, name as NixlStatusName]),
);

/** `-4` → `NIXL_ERR_NOT_FOUND`; a number outside the table is named as such. */
export function nixlStatusName(status: number): string {
  if (typeof status !== 'number') throw wrongArgument('nixlStatusName: status', 'a number', status);
  const name = STATUS_NAMES.get(status);
  return name === undefined ? `status ${status} (unknown to NIXL)` : `NIXL_${name}`;
}

/** How far a transfer is, in the words of NIXL's Python API. */
export type XferState = 'DONE' | 'PROC' | 'ERR';

/** `DONE` for SUCCESS, `PROC` for IN_PROG, `ERR` for everything else. */
export function xferStateOf(status: NixlStatus): XferState {
  if (status === S.SUCCESS) return 'DONE';
  return status === S.IN_PROG ? 'PROC' : 'ERR';
}

export function isNixlStatus(value: number): value is NixlStatus {
  return value <= S.IN_PROG && value >= S.ERR_NO_TELEMETRY && Number.isInteger(value);
}

export const STATUS_OF_CODE: Readonly<Record<ErrorCode, NixlStatus>> = {
  ERR_USAGE_ARGUMENT: S.ERR_INVALID_PARAM,
  ERR_USAGE_COMMAND: S.ERR_INVALID_PARAM,
  ERR_USAGE_STATE: S.ERR_NOT_ALLOWED,
  ERR_USAGE_REGION_BUSY: S.ERR_NOT_ALLOWED,
  ERR_USAGE_NOT_FOUND: S.ERR_NOT_FOUND,
  ERR_USAGE_NOT_SUPPORTED: S.ERR_NOT_SUPPORTED,
  ERR_USAGE_ABORTED: S.ERR_CANCELED,
  ERR_USAGE_NO_TELEMETRY: S.ERR_NO_TELEMETRY,
  ERR_CONFIG_VALUE: S.ERR_INVALID_PARAM,
  ERR_CONFIG_UNKNOWN: S.ERR_INVALID_PARAM,
  ERR_CONFIG_CONFLICT: S.ERR_INVALID_PARAM,
  ERR_CONFIG_MISMATCH: S.ERR_NOT_ALLOWED,
  ERR_CAP_PLATFORM: S.ERR_NOT_SUPPORTED,
  ERR_CAP_BUNDLED: S.ERR_NOT_SUPPORTED,
  ERR_CAP_HUGE_PAGES: S.ERR_NOT_SUPPORTED,
  ERR_CAP_SHARED_MEMORY: S.ERR_NOT_SUPPORTED,
  ERR_CAP_PERMISSION: S.ERR_NOT_ALLOWED,
  ERR_CAP_QUOTA: S.ERR_NOT_ALLOWED,
  ERR_CAP_CLIENT_MEMORY: S.ERR_NOT_SUPPORTED,
  ERR_CAP_MISSING_TOOL: S.ERR_NOT_SUPPORTED,
  ERR_CAP_CHECKSUM: S.ERR_NOT_SUPPORTED,
  ERR_CAP_GPU: S.ERR_NOT_SUPPORTED,
  ERR_CAP_HOST: S.ERR_NOT_ALLOWED,
  ERR_CAP_BASELINE: S.ERR_NOT_ALLOWED,
  ERR_CAP_IRQBALANCE: S.ERR_NOT_ALLOWED,
  ERR_CUDA_CALL: S.ERR_BACKEND,
  ERR_NCCLNET_SCATTER_LIST: S.ERR_BACKEND,
  ERR_NCCLNET_CALL: S.ERR_BACKEND,
  ERR_NCCLNET_EXIT: S.ERR_BACKEND,
  ERR_NCCLNET_HUNG: S.ERR_BACKEND,
  ERR_CAP_SOCKET_BUDGET: S.ERR_NOT_ALLOWED,
  ERR_CAP_NET_PLUGIN: S.ERR_NOT_SUPPORTED,
  ERR_CAP_NET_PLUGIN_TABLE: S.ERR_NOT_SUPPORTED,
  ERR_CAP_NET_DEVICE: S.ERR_NOT_SUPPORTED,
  ERR_CAP_PLUGIN: S.ERR_BACKEND,
  ERR_CAP_BACKEND: S.ERR_BACKEND,
  ERR_SYS_CALL: S.ERR_BACKEND,
  ERR_SYS_DESCRIPTORS: S.ERR_BACKEND,
  ERR_SYS_ADDRESS_IN_USE: S.ERR_BACKEND,
  ERR_SYS_RESOLVE: S.ERR_BACKEND,
  ERR_WIRE_MAGIC: S.ERR_MISMATCH,
  ERR_WIRE_VERSION: S.ERR_MISMATCH,
  ERR_WIRE_FRAME: S.ERR_MISMATCH,
  ERR_WIRE_STATE: S.ERR_BACKEND,
  ERR_WIRE_LIMIT: S.ERR_MISMATCH,
  ERR_WIRE_METADATA: S.ERR_MISMATCH,
  ERR_WIRE_AUTH: S.ERR_NOT_ALLOWED,
  ERR_PEER_UNREACHABLE: S.ERR_REMOTE_DISCONNECT,
  ERR_PEER_TIMEOUT: S.ERR_REMOTE_DISCONNECT,
  ERR_PEER_REFUSED: S.ERR_BACKEND,
  ERR_PEER_SAME_HOST: S.ERR_NOT_SUPPORTED,
  ERR_PEER_UNTRUSTED: S.ERR_NOT_ALLOWED,
  ERR_PEER_LOST: S.ERR_REMOTE_DISCONNECT,
  ERR_PEER_GOODBYE: S.ERR_REMOTE_DISCONNECT,
  ERR_PEER_CHANGED: S.ERR_NOT_ALLOWED,
  ERR_PEER_STALE_SESSION: S.ERR_REMOTE_DISCONNECT,
  ERR_PEER_STALE_REGION: S.ERR_NOT_FOUND,
  ERR_PEER_NO_REGION: S.ERR_NOT_FOUND,
  ERR_PEER_KEY: S.ERR_NOT_ALLOWED,
  ERR_PEER_RIGHTS: S.ERR_NOT_ALLOWED,
  ERR_PEER_BOUNDS: S.ERR_INVALID_PARAM,
  ERR_PEER_EXPIRED: S.ERR_NOT_ALLOWED,
  ERR_PEER_DEVICE: S.ERR_BACKEND,
  ERR_XFER_DEVICE: S.ERR_BACKEND,
  ERR_XFER_FAILED: S.ERR_BACKEND,
  ERR_XFER_CHECKSUM: S.ERR_BACKEND,
  ERR_XFER_CANCELLED: S.ERR_CANCELED,
  ERR_XFER_DEADLINE: S.ERR_CANCELED,
  ERR_XFER_UNMATCHED: S.ERR_BACKEND,
  ERR_XFER_ORDER: S.ERR_MISMATCH,
  ERR_XFER_SHORT: S.ERR_MISMATCH,
  ERR_XFER_OVERSIZE: S.ERR_MISMATCH,
  ERR_XFER_PATH: S.ERR_BACKEND,
  ERR_XFER_VERIFY: S.ERR_BACKEND,
};

/** A transfer that failed has the number of what made it fail. */
export function nixlStatusOf(error: unknown): NixlStatus {
  if (!(error instanceof TcpxError)) return S.ERR_UNKNOWN;
  const { code, cause } = error;
  const isExplained = code === 'ERR_XFER_FAILED' && cause instanceof TcpxError;
  return STATUS_OF_CODE[isExplained ? cause.code : code];
}

const CODE_OF_STATUS: Readonly<Partial<Record<NixlStatus, ErrorCode>>> = {
  [S.ERR_NOT_POSTED]: 'ERR_USAGE_STATE',
  [S.ERR_INVALID_PARAM]: 'ERR_USAGE_ARGUMENT',
  [S.ERR_NOT_FOUND]: 'ERR_USAGE_NOT_FOUND',
  [S.ERR_NOT_ALLOWED]: 'ERR_PEER_RIGHTS',
  [S.ERR_NOT_SUPPORTED]: 'ERR_USAGE_NOT_SUPPORTED',
  [S.ERR_REMOTE_DISCONNECT]: 'ERR_PEER_LOST',
  [S.ERR_CANCELED]: 'ERR_XFER_CANCELLED',
  [S.ERR_NO_TELEMETRY]: 'ERR_USAGE_NO_TELEMETRY',
};

/** The typed error for a status that a backend gave without one. */
export function errorOfStatus(status: NixlStatus, attempted: string, facts?: ErrorFacts) {
  const code = CODE_OF_STATUS[status] ?? 'ERR_XFER_FAILED';
  const name = nixlStatusName(status);
  return new TcpxError(code, `${attempted}: ${name}`, { facts: { ...facts, status: name } });
}
