// What the variables of the TCPX plugin, NCCL and the benchmark mean: default, range, and whether
// the plugin acts on them at all. `tcpx env`, `tcpx env diff` and the doctor read this table.

export interface VariableFacts {
  readonly meaning: string;
  /** What the plugin uses when the variable is not set. */
  readonly unset: string;
  readonly minimum?: number;
  readonly maximum?: number;
  /** Parsed or named, but without effect in the published plugin. */
  readonly isDead?: boolean;
  /** Both ends of a connection must agree. */
  readonly mustMatch?: boolean;
  /** How much a difference matters to where and how fast bytes move. */
  readonly weight: 'path' | 'speed' | 'placement' | 'report';
}

type Weight = VariableFacts['weight'];

function facts(weight: Weight, unset: string, meaning: string, more = {}): VariableFacts {
  return { weight, unset, meaning, ...more };
}

function dead(meaning: string): VariableFacts {
  return { weight: 'report', unset: 'no effect', meaning, isDead: true };
}

const X = 'NCCL_GPUDIRECTTCPX_';

export const VARIABLES: Readonly<Record<string, VariableFacts>> = {
  [`${X}SOCKET_IFNAME`]: facts('path', 'found by itself', 'NICs that carry data'),
  [`${X}CTRL_DEV`]: facts('path', 'none', 'NIC of the control sockets', { mustMatch: true }),
  [`${X}SOCKET_ENABLE`]: facts('path', '1', '0 makes the plugin refuse to start', range(0, 1)),
  [`${X}SOCKET_FAMILY`]: facts('path', 'first found', 'address family; AF_INET is the tested one'),
  [`${X}UNIX_CLIENT_PREFIX`]: facts(
    'path',
    '/tmp',
    'folder of the receive manager’s sockets; a wrong one means no flow rule and no device memory',
  ),
  [`${X}RECV_SYNC`]: facts('path', '0', 'receiver-ready handshake', {
    ...range(0, 1),
    mustMatch: true,
  }),
  [`${X}CONNECTION_RETRY`]: facts('path', '3', 'tries per socket; 0 fails every connection', {
    minimum: 1,
  }),
  [`${X}FLOW_STEERING_STRATEGY`]: facts('path', '3', 'only 3 is accepted', range(3, 3)),
  [`${X}PROGRAM_FLOW_STEERING_WAIT_MICROS`]: facts(
    'speed',
    '5000000',
    'sleep at the end of every accept until the flow rule holds; 0 means the default',
    { minimum: 1 },
  ),
  [`${X}TX_BINDINGS`]: facts('placement', 'CPUs of the NIC’s node', 'cores of the send threads'),
  [`${X}RX_BINDINGS`]: facts('placement', 'CPUs of the NIC’s node', 'cores of the receive threads'),
  [`${X}TX_IRQ_BINDINGS`]: dead('logged only; interrupts are bound with tcpx irq apply'),
  [`${X}RX_IRQ_BINDINGS`]: dead('logged only; interrupts are bound with tcpx irq apply'),
  [`${X}WORKER_PIN_THREADS`]: facts(
    'placement',
    '0',
    '1 pins each helper thread to one core of its set; else it may wander in the whole set',
  ),
  [`${X}WORKER_SPRAY_COUNT`]: facts('placement', '0', 'further cores for a pinned thread'),
  [`${X}WORKER_SPRAY_STRIDE`]: facts('placement', '0', 'distance between those cores'),
  [`${X}FORCE_ACK`]: facts(
    'speed',
    '0',
    'quick acknowledgement after a drained queue',
    range(0, 1),
  ),
  [`${X}TX_COMPLETION_NANOSLEEP`]: facts('speed', '0', 'sleep between polls for completions'),
  [`${X}SCHED_ALG`]: facts('speed', 'RR', 'how chunks choose sockets: RR or KATY'),
  [`${X}SPINWAIT_CONNECT`]: facts('speed', '1', 'send and receive before ready wait', range(0, 1)),
  [`${X}CUDA_USE_PRIMARY_CTX`]: facts('path', '1', '0 makes a context per GPU', range(0, 1)),
  [`${X}DEBUG_LEVEL`]: facts('report', 'WARN', 'how much the plugin logs'),
  [`${X}LOG_STATS_TO_STDOUT`]: facts('report', '0', 'counters per flow at close', range(0, 1)),
  [`${X}TELEMETRY_EXPORT_STATS_TO_FILE`]: facts(
    'report',
    '0',
    'telemetry files; needs TELEMETRY_EXPORTER_PATH, without it the plugin crashes',
    range(0, 1),
  ),
  [`${X}PORT_BEGIN`]: dead('ports are ephemeral; limit them with ip_local_port_range'),
  [`${X}PORT_END`]: dead('ports are ephemeral; limit them with ip_local_port_range'),
  [`${X}PORT_MAPPING`]: dead('its parser is never called'),
  [`${X}CTRL_SOCKCOND`]: dead('evaluated, never refuses'),
  [`${X}NIC_N_RXQS`]: facts('report', '32', 'bookkeeping only', { minimum: 1 }),
  NCCL_TCPX_RXMEM_IMPORT_USE_GPU_PCI_CLIENT: facts(
    'path',
    '1',
    '1 imports the bounce buffer from the receive manager; 0 reads a legacy file',
    range(0, 1),
  ),
  NCCL_DYNAMIC_CHUNK_SIZE: facts('speed', '0, which does not work', 'bytes per chunk', {
    minimum: 1,
    maximum: 2 ** 31 - 2,
  }),
  NCCL_NSOCKS_PERTHREAD: facts('speed', '1', 'data sockets per helper thread', range(1, 8)),
  NCCL_SOCKET_NTHREADS: facts(
    'speed',
    '1',
    'helper threads; sockets are capped to 8 by integer division, so above 8 none is left',
    range(1, 8),
  ),
  NCCL_MIN_ZCOPY_SIZE: facts('speed', '0 (off)', 'zero-copy sends from host memory'),
  NCCL_USE_DMA_BUF: facts('path', '1', '0 makes GPU registration fail', range(0, 1)),
  NCCL_SCATTER_COPY_MIN_MESSAGE_SIZE: dead('declared, never read'),
  NCCL_STAGING_BUFFER_SIZE: dead('declared, never read'),
  NCCL_SOCKET_IFNAME: facts('path', 'found by itself', 'NIC of NCCL’s own bootstrap'),
  NCCL_CROSS_NIC: facts('path', '2', '0 keeps a ring on one NIC, as GPU and NIC must pair'),
  NCCL_NET_GDR_LEVEL: facts('path', 'by topology', 'how near GPU and NIC must be; PIX here'),
  NCCL_P2P_PXN_LEVEL: facts('path', '2', '0 forbids a detour through another GPU'),
  NCCL_P2P_NET_CHUNKSIZE: facts('speed', '131072', 'bytes per network chunk'),
  NCCL_P2P_PCI_CHUNKSIZE: facts('speed', '131072', 'bytes per PCI chunk'),
  NCCL_P2P_NVL_CHUNKSIZE: facts('speed', '524288', 'bytes per NVLink chunk'),
  NCCL_BUFFSIZE: facts('speed', '4194304', 'bytes of each channel’s buffer'),
  NCCL_MIN_NCHANNELS: facts('speed', 'by topology', 'least number of NCCL channels'),
  NCCL_MAX_NCHANNELS: facts('speed', 'by topology', 'greatest number of NCCL channels'),
  NCCL_ALGO: facts('speed', 'by tuning', 'collective algorithm'),
  NCCL_PROTO: facts('speed', 'by tuning', 'collective protocol; Simple with TCPX'),
  NCCL_IGNORE_CPU_AFFINITY: facts(
    'placement',
    '0',
    '1 places NCCL’s threads by topology, not by the inherited affinity',
  ),
  NCCL_DEBUG: facts('report', 'nothing is logged', 'how much NCCL logs'),
  NCCL_DEBUG_SUBSYS: facts('report', 'INIT,BOOTSTRAP,ENV', 'which parts of NCCL log'),
  UCCL_TCPX_PLUGIN_PATH: facts(
    'path',
    '/usr/local/tcpx/lib64/libnccl-net-tcpx.so',
    'plugin library to load',
  ),
  UCCL_TCPX_NUM_CHANNELS: facts('speed', '1', 'channels per connection'),
  UCCL_TCPX_CHUNK_BYTES: facts('speed', '524288', 'bytes per chunk'),
  UCCL_TCPX_WINDOW_SIZE: facts('speed', '16', 'chunks in flight per channel'),
  UCCL_TCPX_BOOTSTRAP_PORT_BASE: facts('path', '20000', 'first port, plus the GPU number', {
    mustMatch: true,
  }),
  UCCL_TCPX_UNPACK_IMPL: facts('speed', 'kernel', 'who unpacks: kernel, d2d, host, none'),
  UCCL_TCPX_VERBOSE: facts('report', '0', 'interrupts, ranges, threads and channels at start'),
  UCCL_TCPX_DEBUG: facts('report', '0', 'every plugin call'),
};

function range(minimum: number, maximum: number) {
  return { minimum, maximum };
}

/** Why a value is unusable; undefined when nothing speaks against it. */
export function valueProblem(name: string, value: string): string | undefined {
  const known = VARIABLES[name];
  if (known === undefined) return undefined;
  if (known.isDead === true) return `has no effect: ${known.meaning}`;
  if (known.minimum === undefined) return undefined;
  const number = /^(0x[0-9a-f]+|-?\d+)$/i.test(value) ? Number(value) : Number.NaN;
  if (Number.isNaN(number)) return `${JSON.stringify(value)} is not a number`;
  const isBelow = number < known.minimum;
  const isAbove = known.maximum !== undefined && number > known.maximum;
  const allowed = `${known.minimum} to ${known.maximum ?? 'any'}`;
  return isBelow || isAbove ? `${value} is outside ${allowed}: ${known.meaning}` : undefined;
}
