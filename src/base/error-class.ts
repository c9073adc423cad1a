// Kinds of failures, by how their codes begin.

export const ERROR_CLASSES = {
  ERR_USAGE_: 'the caller broke the API or the command line',
  ERR_CONFIG_: 'a setting or environment variable is unusable',
  ERR_CAP_: 'this host lacks something',
  ERR_SYS_: 'a system call failed',
  ERR_CUDA_: 'a CUDA driver call failed',
  ERR_NCCLNET_: 'a call into the NCCL net plugin failed',
  ERR_WIRE_: 'the peer broke the protocol; its session is closed',
  ERR_PEER_: 'the peer is gone, refused, timed out or is not the one it was',
  ERR_XFER_: 'the final state of one transfer',
} as const;

const CLASS_NAMES: Readonly<Record<keyof typeof ERROR_CLASSES, string>> = {
  ERR_USAGE_: 'UsageError',
  ERR_CONFIG_: 'ConfigError',
  ERR_CAP_: 'CapabilityError',
  ERR_SYS_: 'SystemError',
  ERR_CUDA_: 'DriverError',
  ERR_NCCLNET_: 'DriverError',
  ERR_WIRE_: 'ProtocolError',
  ERR_PEER_: 'PeerError',
  ERR_XFER_: 'TransferError',
};

const CLASSES = Object.entries(CLASS_NAMES);

export function errorClassName(code: string): string {
  return CLASSES.find(([prefix]) => code.startsWith(prefix))?.[1] ?? 'TcpxError';
}
