// The one table of settings. Flags, --help, docs/configuration.md, environment names and
// `tcpx config` derive from it; nothing else declares a default.

export type SettingValue = number | string | boolean;

interface SettingCommon {
  /** Long flag without dashes, where the command line offers it. */
  readonly flag?: string;
  /** Names of other systems that are accepted from the environment, first found wins. */
  readonly aliases?: readonly string[];
  readonly summary: string;
  /** What turning the knob costs or risks. */
  readonly cost: string;
}

export interface NumberSetting extends SettingCommon {
  readonly kind: 'bytes' | 'count' | 'ms' | 'us' | 'port';
  readonly fallback: number;
  readonly minimum: number;
  readonly maximum: number;
}

export interface ChoiceSetting extends SettingCommon {
  readonly kind: 'choice';
  readonly fallback: string;
  readonly choices: readonly string[];
}

export interface TextSetting extends SettingCommon {
  readonly kind: 'text';
  readonly fallback: string;
}

export interface BooleanSetting extends SettingCommon {
  readonly kind: 'boolean';
  readonly fallback: boolean;
}

export type Setting = NumberSetting | ChoiceSetting | TextSetting | BooleanSetting;

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;

export const SETTINGS = {
  'log.level': {
    kind: 'choice',
    fallback: 'warn',
    choices: ['error', 'warn', 'info', 'debug', 'trace'],
    flag: 'log-level',
    summary: 'How much is logged on stderr.',
    cost: 'debug and trace write a line per session event; none is written per chunk.',
  },
  'log.format': {
    kind: 'choice',
    fallback: 'text',
    choices: ['text', 'json'],
    flag: 'log-format',
    summary: 'Log lines as key=value text or as JSON.',
    cost: 'None.',
  },
  'session.port': {
    kind: 'port',
    fallback: 20000,
    minimum: 0,
    maximum: 65535,
    flag: 'port',
    aliases: ['UCCL_TCPX_BOOTSTRAP_PORT_BASE'],
    summary: 'Port for control and data connections; 0 lets the kernel choose.',
    cost: 'Both ends must name the same port; it is the only one to open in a firewall.',
  },
  'session.portIndex': {
    kind: 'count',
    fallback: 0,
    minimum: 0,
    maximum: 1023,
    flag: 'port-index',
    summary: 'Added to the port, so that several processes of one host count up from one base.',
    cost: 'None.',
  },
  'session.bind': {
    kind: 'text',
    fallback: '',
    flag: 'bind',
    summary: 'Address to listen on; empty means loopback without a secret, all addresses with one.',
    cost: 'A wider address is reachable by more hosts.',
  },
  'session.ctrlInterface': {
    kind: 'text',
    fallback: '',
    flag: 'ctrl',
    aliases: ['NCCL_GPUDIRECTTCPX_CTRL_DEV', 'NCCL_SOCKET_IFNAME'],
    summary: 'Interface of the control connection, for example eth0; empty lets routing decide.',
    cost: 'Needs CAP_NET_RAW on kernels before 5.7.',
  },
  'session.nics': {
    kind: 'text',
    fallback: '',
    flag: 'nics',
    aliases: ['NCCL_GPUDIRECTTCPX_SOCKET_IFNAME'],
    summary: 'Interfaces for data channels, comma-separated; channels go round-robin over them.',
    cost: 'A named interface that is absent or down is an error, not a fallback.',
  },
  'session.handshakeTimeoutMs': {
    kind: 'ms',
    fallback: 5000,
    minimum: 50,
    maximum: 600_000,
    flag: 'handshake-timeout',
    summary: 'Longest wait for a connection and for each handshake step.',
    cost: 'Lower fails sooner on slow networks; higher keeps half-open peers longer.',
  },
  'session.connectTimeoutMs': {
    kind: 'ms',
    fallback: 10_000,
    minimum: 50,
    maximum: 600_000,
    flag: 'connect-timeout',
    summary: 'How long a client keeps trying to reach a peer that does not listen yet.',
    cost: 'Higher delays the error about a peer that never comes.',
  },
  'session.peersMax': {
    kind: 'count',
    fallback: 64,
    minimum: 1,
    maximum: 1024,
    summary: 'Sessions that one engine holds at a time.',
    cost: 'Memory per lane grows with it.',
  },
  'trust.mode': {
    kind: 'choice',
    fallback: 'secret',
    choices: ['secret', 'network'],
    flag: 'trust',
    summary:
      '`secret`: peers prove a shared secret, without one only loopback is accepted. ' +
      '`network`: anybody who reaches the port is trusted.',
    cost:
      '`network` lets every host that reaches the port read and write registered memory ' +
      'whose descriptor it holds.',
  },
  'trust.secretFile': {
    kind: 'text',
    fallback: '',
    flag: 'secret-file',
    summary: 'File that holds the shared secret; it must be readable by its owner alone.',
    cost: 'None.',
  },
  'trust.secret': {
    kind: 'text',
    fallback: '',
    summary: 'The shared secret itself; meant for the environment, never for a command line.',
    cost: 'Environments are readable by the same user; a file is safer.',
  },
  'flow.chunkBytes': {
    kind: 'bytes',
    fallback: 512 * KIB,
    minimum: 4 * KIB,
    maximum: 16 * MIB,
    flag: 'chunk',
    aliases: ['UCCL_TCPX_CHUNK_BYTES', 'NCCL_P2P_NET_CHUNKSIZE', 'NCCL_DYNAMIC_CHUNK_SIZE'],
    summary: 'Largest piece of a transfer that one channel carries at a time.',
    cost: 'Smaller costs system calls and acknowledgements; larger makes striping coarser.',
  },
  'flow.windowChunks': {
    kind: 'count',
    fallback: 16,
    minimum: 1,
    maximum: 256,
    flag: 'window',
    aliases: ['UCCL_TCPX_MAX_RECV_INFLIGHT', 'UCCL_TCPX_WINDOW_SIZE'],
    summary: 'Chunks in flight on one channel before an acknowledgement must come back.',
    cost: 'Smaller stalls long links; larger holds more unconfirmed data on a slow link.',
  },
  'flow.channels': {
    kind: 'count',
    fallback: 1,
    minimum: 1,
    maximum: 16,
    flag: 'channels',
    aliases: ['UCCL_TCPX_NUM_CHANNELS'],
    summary: 'Data connections to each peer.',
    cost: 'Each costs a socket and its buffers on both ends.',
  },
  'lane.count': {
    kind: 'count',
    fallback: 1,
    minimum: 1,
    maximum: 16,
    flag: 'lanes',
    summary: 'Worker threads that move data; channels are spread over them.',
    cost: 'A lane that spins occupies a core for the spin time; more lanes than cores slow down.',
  },
  'lane.progress': {
    kind: 'choice',
    fallback: 'lanes',
    choices: ['lanes', 'caller'],
    flag: 'progress',
    summary: '`lanes`: worker threads move data. `caller`: the thread that posts and polls does.',
    cost: '`caller` has the lowest latency, but a target moves only when it polls.',
  },
  'lane.spinUs': {
    kind: 'us',
    fallback: 50,
    minimum: 0,
    maximum: 100_000,
    flag: 'spin',
    summary: 'How long an idle lane looks again before it sleeps in the kernel.',
    cost: 'Longer burns a core for lower latency; 0 always sleeps.',
  },
  'lane.bindings': {
    kind: 'text',
    fallback: '',
    flag: 'bindings',
    aliases: ['NCCL_GPUDIRECTTCPX_TX_BINDINGS'],
    summary: 'Cores for the lanes of each NIC, as eth1:8-21,112-125;eth2:8-21,112-125.',
    cost: 'Cores far from the NIC, or shared with its interrupts, slow the lane down.',
  },
  'memory.regionsMax': {
    kind: 'count',
    fallback: 4096,
    minimum: 16,
    maximum: 65_536,
    summary: 'Regions that may be registered at a time.',
    cost: '64 bytes each, reserved at start.',
  },
  'memory.transfersMax': {
    kind: 'count',
    fallback: 1024,
    minimum: 16,
    maximum: 16_384,
    summary: 'Transfers that may be in flight at a time.',
    cost: '512 bytes each, reserved at start.',
  },
  'memory.arenaBytes': {
    kind: 'bytes',
    fallback: 256 * MIB,
    minimum: 1 * MIB,
    maximum: 4 * GIB,
    summary: 'Address space for prepared descriptor lists (32 bytes per descriptor).',
    cost: 'Reserved, not resident: pages are used only where descriptors lie.',
  },
  'socket.bufferBytes': {
    kind: 'bytes',
    fallback: 0,
    minimum: 0,
    maximum: 256 * MIB,
    flag: 'socket-buffer',
    summary: 'SO_SNDBUF and SO_RCVBUF of data sockets; 0 leaves the kernel’s auto-tuning.',
    cost: 'A fixed size disables auto-tuning and is capped by net.core.wmem_max and rmem_max.',
  },
  'socket.congestion': {
    kind: 'text',
    fallback: '',
    flag: 'congestion',
    summary: 'TCP congestion control of data sockets, for example cubic; empty keeps the default.',
    cost: 'An algorithm that the kernel does not offer is an error.',
  },
  'socket.userTimeoutMs': {
    kind: 'ms',
    fallback: 30_000,
    minimum: 0,
    maximum: 3_600_000,
    flag: 'user-timeout',
    summary: 'TCP_USER_TIMEOUT: how long sent data may stay unacknowledged; 0 leaves the default.',
    cost: 'Too low breaks connections on short outages.',
  },
  'plugin.path': {
    kind: 'text',
    fallback: '',
    flag: 'plugin',
    aliases: ['UCCL_TCPX_PLUGIN_PATH'],
    summary:
      'The NCCL net plugin, as a path or library name; empty tries ' +
      '/usr/local/tcpx/lib64/libnccl-net-tcpx.so and then the names that NCCL tries.',
    cost: 'The library is loaded and run: it must be trusted.',
  },
  'plugin.name': {
    kind: 'text',
    fallback: '',
    aliases: ['NCCL_NET_PLUGIN'],
    summary: 'Which plugin NCCL would load: NAME or libnccl-net-NAME.so.',
    cost: 'Ignored where plugin.path is given.',
  },
  'bench.sizeBytes': {
    kind: 'bytes',
    fallback: 64 * MIB,
    minimum: 1,
    maximum: 64 * GIB,
    flag: 'size',
    aliases: ['UCCL_TCPX_PERF_SIZE', 'UCCL_TCPX_PAYLOAD_BYTES'],
    summary: 'Bytes that one iteration of a benchmark moves.',
    cost: 'Both ends allocate this much.',
  },
  'bench.blockBytes': {
    kind: 'bytes',
    fallback: 0,
    minimum: 0,
    maximum: 64 * GIB,
    flag: 'block',
    summary: 'Size of the blocks that an iteration is cut into; 0 makes one block of it.',
    cost: 'Small blocks cost descriptors: 32 bytes of memory each.',
  },
  'bench.batch': {
    kind: 'count',
    fallback: 1,
    minimum: 1,
    maximum: 64,
    flag: 'batch',
    summary: 'Transfers posted before the first is awaited.',
    cost: 'Latency then includes the wait behind the others.',
  },
  'bench.iterations': {
    kind: 'count',
    fallback: 50,
    minimum: 1,
    maximum: 100_000_000,
    flag: 'iters',
    aliases: ['UCCL_TCPX_PERF_ITERS'],
    summary: 'Measured iterations of a benchmark.',
    cost: 'Time.',
  },
  'bench.seconds': {
    kind: 'count',
    fallback: 0,
    minimum: 0,
    maximum: 86_400,
    flag: 'seconds',
    summary: 'Run for this long instead of counting iterations; 0 counts iterations.',
    cost: 'Time.',
  },
  'bench.warmup': {
    kind: 'count',
    fallback: 5,
    minimum: 0,
    maximum: 100_000,
    flag: 'warmup',
    summary: 'Iterations before the measured ones; verified like the others.',
    cost: 'Without warm-up, page faults and compilation are measured too.',
  },
  'bench.verify': {
    kind: 'choice',
    fallback: 'all',
    choices: ['all', 'sample', 'none'],
    flag: 'verify',
    summary: 'Which iterations are checked byte for byte at the place where they landed.',
    cost: 'Checking lies outside the timed window; it lengthens the run.',
  },
  'bench.op': {
    kind: 'choice',
    fallback: 'write',
    choices: ['write', 'read', 'pingpong'],
    flag: 'op',
    summary: 'Operation that a benchmark measures.',
    cost: 'None.',
  },
  'bench.memory': {
    kind: 'choice',
    fallback: 'dram',
    choices: ['dram', 'vram'],
    flag: 'memory',
    summary: 'Memory that a benchmark moves: host or GPU.',
    cost: 'vram needs an NVIDIA GPU and driver.',
  },
  'bench.provider': {
    kind: 'choice',
    fallback: 'tcp',
    choices: ['tcp', 'tcpx'],
    flag: 'provider',
    summary: 'Transport: kernel TCP sockets or an NCCL net plugin.',
    cost: 'tcpx needs the plugin.',
  },
} as const satisfies Readonly<Record<string, Setting>>;

export type SettingName = keyof typeof SETTINGS;

type ValueOf<S extends Setting> = S extends { readonly kind: 'choice'; readonly choices: infer C }
  ? C extends readonly string[]
    ? C[number]
    : never
  : S extends NumberSetting
    ? number
    : S extends BooleanSetting
      ? boolean
      : string;

export type SettingValues = { readonly [N in SettingName]: ValueOf<(typeof SETTINGS)[N]> };

export const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[];

export function settingOf(name: SettingName): Setting {
  return SETTINGS[name];
}

/** `flow.chunkBytes` → `NIXL_TCPX_FLOW_CHUNK_BYTES`. */
export function environmentName(name: SettingName): string {
  const words = name.replace(/([a-z])([A-Z])/g, '$1_$2').replaceAll('.', '_');
  return `NIXL_TCPX_${words.toUpperCase()}`;
}

export function describeRange(setting: Setting): string {
  switch (setting.kind) {
    case 'choice':
      return setting.choices.join(', ');
    case 'boolean':
      return 'true, false';
    case 'text':
      return 'text';
    case 'bytes':
    case 'count':
    case 'ms':
    case 'us':
    case 'port':
      return `${setting.minimum} … ${setting.maximum}`;
  }
}
