// Environments for a run: the settings of the reference runs, with the NICs and core ranges of a
// plan put in. Every value is one that somebody published; none is tuned here.

export const PRESETS = ['reference', 'a3-high'] as const;
export type PresetName = (typeof PRESETS)[number];

export type EnvironmentValues = Readonly<Record<string, string>>;

export interface EnvironmentRequest {
  readonly preset: PresetName;
  readonly dataNics: readonly string[];
  readonly controlNic: string;
  readonly txBindings: string;
  readonly rxBindings: string;
  /** undefined: nobody has asked for a number, and an engine of ours chooses it. */
  readonly channels: number | undefined;
}

const COMMON: EnvironmentValues = {
  NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX: '/run/tcpx',
  NCCL_GPUDIRECTTCPX_FORCE_ACK: '0',
  NCCL_CROSS_NIC: '0',
  NCCL_NET_GDR_LEVEL: 'PIX',
  NCCL_P2P_PXN_LEVEL: '0',
  NCCL_ALGO: 'Ring',
  NCCL_PROTO: 'Simple',
  NCCL_DYNAMIC_CHUNK_SIZE: '524288',
  NCCL_P2P_NET_CHUNKSIZE: '524288',
  NCCL_P2P_PCI_CHUNKSIZE: '524288',
  NCCL_P2P_NVL_CHUNKSIZE: '1048576',
  NCCL_NSOCKS_PERTHREAD: '4',
  NCCL_SOCKET_NTHREADS: '1',
};

/** `reference`: the two-node all-reduce of the measurements; `a3-high`: Google's published set. */
const DIFFERENCES: Readonly<Record<PresetName, EnvironmentValues>> = {
  reference: {
    NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS: '50000',
    NCCL_BUFFSIZE: '8388608',
    NCCL_MIN_NCHANNELS: '8',
    NCCL_MAX_NCHANNELS: '8',
    NCCL_IGNORE_CPU_AFFINITY: '1',
  },
  'a3-high': {
    NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS: '500000',
    NCCL_BUFFSIZE: '4194304',
  },
};

export function environmentFor(request: EnvironmentRequest): EnvironmentValues {
  const values: Record<string, string> = {
    ...COMMON,
    ...DIFFERENCES[request.preset],
    NCCL_GPUDIRECTTCPX_SOCKET_IFNAME: request.dataNics.join(','),
    NCCL_GPUDIRECTTCPX_CTRL_DEV: request.controlNic,
    NCCL_SOCKET_IFNAME: request.controlNic,
    NCCL_GPUDIRECTTCPX_TX_BINDINGS: request.txBindings,
    NCCL_GPUDIRECTTCPX_RX_BINDINGS: request.rxBindings,
    UCCL_TCPX_NUM_CHANNELS: String(request.channels ?? ''),
    UCCL_TCPX_CHUNK_BYTES: '524288',
  };
  const entries = Object.entries(values).filter(([, value]) => value !== '');
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Lines for `eval`: quoted, since bindings hold semicolons. */
export function formatExports(values: EnvironmentValues): string {
  return Object.entries(values)
    .map(([name, value]) => `export ${name}=${shellWord(value)}\n`)
    .join('');
}

function shellWord(value: string): string {
  if (/^[\w@%+=:,./-]+$/.test(value)) return value;
  return `'${value.replaceAll("'", `'\\''`)}'`;
}

/** Reads `NAME=value` lines, with `export`, quotes and comments as a shell file has them. */
export function parseEnvironmentText(text: string): EnvironmentValues {
  const values: Record<string, string> = {};
  const separator = text.includes('\0') ? '\0' : '\n';
  for (const line of text.split(separator)) {
    const match = /^\s*(?:export\s+|-x\s+)?([A-Za-z_]\w*)=(.*)$/s.exec(line);
    if (match?.[1] === undefined) continue;
    values[match[1]] = separator === '\0' ? (match[2] ?? '') : unquote((match[2] ?? '').trim());
  }
  return values;
}

function unquote(word: string): string {
  const quote = word[0];
  if (quote !== '"' && quote !== "'") return word.replace(/\s+#.*$/, '');
  const end = word.lastIndexOf(quote);
  if (end <= 0) return word;
  return word.slice(1, end).replaceAll(`'\\''`, "'");
}
