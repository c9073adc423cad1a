// Variables of the plugin that break the path of this provider when they are inherited: forced to
// the value that works, or refused by name where somebody has to decide. Pure.

import { parseBindings } from '../../base/core-bindings.js';
import { TcpxError } from '../../base/errors.js';

export type Variables = Readonly<Record<string, string | undefined>>;

const X = 'NCCL_GPUDIRECTTCPX_';

interface ForcedVariable {
  readonly value: string;
  readonly why: string;
}

/** Set for every plugin process, whatever was inherited. */
const FORCED: Readonly<Record<string, ForcedVariable>> = {
  NCCL_INLINE_THRESHOLD: {
    value: '0',
    why: 'inline messages pass by device memory: the processor would read a GPU address',
  },
  NCCL_USE_DMA_BUF: { value: '1', why: 'without it no GPU memory can be registered' },
  NCCL_TCPX_RXMEM_IMPORT_SKIP_ODDS: { value: '0', why: 'odd GPUs would have no bounce buffer' },
  [`${X}SOCKET_FAMILY`]: { value: 'AF_INET', why: 'steering rules for IPv6 come out truncated' },
  [`${X}RECV_SYNC`]: { value: '0', why: 'both ends must have the same, or records mix up' },
  [`${X}SPINWAIT_CONNECT`]: { value: '1', why: 'posts would come back without a request' },
  [`${X}FLOW_STEERING_STRATEGY`]: { value: '3', why: 'the plugin refuses to start with another' },
  [`${X}CUDA_USE_PRIMARY_CTX`]: {
    value: '1',
    why: 'bounce buffers would lie in a context that the unpack kernel cannot reach',
  },
};

/** Names of RxDM's sockets follow the prefix; the kernel takes 107 bytes for both. */
const PREFIX_BYTES_MAX = 75;

type Refusal = (value: string, variables: Variables) => string | undefined;

/** Why a value cannot be used; undefined when it can. */
const REFUSED: Readonly<Record<string, Refusal>> = {
  [`${X}SOCKET_ENABLE`]: (value) =>
    Number(value) === 0 ? 'it switches the plugin off; unset it' : undefined,
  [`${X}CONNECTION_RETRY`]: (value) =>
    Number(value) === 0 ? 'every connection fails with 0; unset it' : undefined,
  [`${X}TELEMETRY_EXPORT_STATS_TO_FILE`]: (value, variables) =>
    Number(value) !== 0 && (variables[`${X}TELEMETRY_EXPORTER_PATH`] ?? '') === ''
      ? `the plugin crashes without ${X}TELEMETRY_EXPORTER_PATH; set it, or unset this`
      : undefined,
  [`${X}UNIX_CLIENT_PREFIX`]: (value) =>
    value.length > PREFIX_BYTES_MAX
      ? `${value.length} bytes leave no room for socket names; ${PREFIX_BYTES_MAX} do`
      : undefined,
  [`${X}TX_BINDINGS`]: refuseBindings,
  [`${X}RX_BINDINGS`]: refuseBindings,
};

function refuseBindings(value: string): string | undefined {
  const fatal = parseBindings(value).pitfalls.find(({ severity }) => severity === 'fatal');
  return fatal === undefined ? undefined : `${fatal.nic}: ${fatal.text}`;
}

export interface Overridden {
  readonly name: string;
  readonly was: string;
  readonly now: string;
  readonly why: string;
}

export function forcedVariables(): Record<string, string> {
  return Object.fromEntries(Object.entries(FORCED).map(([name, { value }]) => [name, value]));
}

/** What was inherited and is forced to something else. */
export function overriddenVariables(inherited: Variables): Overridden[] {
  return Object.entries(FORCED).flatMap(([name, { value, why }]) => {
    const was = inherited[name] ?? '';
    return was === '' || was === value ? [] : [{ name, was, now: value, why }];
  });
}

/** Throws for a value with which the plugin crashes, fails or is off. */
export function checkVariables(variables: Variables): void {
  for (const [name, refusal] of Object.entries(REFUSED)) {
    const value = variables[name] ?? '';
    const why = value === '' ? undefined : refusal(value, variables);
    if (why === undefined) continue;
    throw new TcpxError('ERR_CONFIG_VALUE', `${name}=${value}: ${why}`, { facts: { name, value } });
  }
}
