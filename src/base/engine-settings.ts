// Settings of the engine: log, flow, lanes, memory, sockets.

import { SESSION_SETTINGS } from './session-settings.js';
import type { Setting } from './setting.js';

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;

export const ENGINE_SETTINGS = {
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
  'engine.provider': {
    kind: 'choice',
    fallback: 'auto',
    choices: ['auto', 'tcp', 'tcpx'],
    flag: 'provider',
    aliases: ['NIXL_TCPX_BENCH_PROVIDER'],
    summary:
      'What carries the data: kernel TCP, an NCCL net plugin (tcpx), or auto: tcpx where a ' +
      'plugin, a GPU and a NIC for it are there and the peer is on another host, tcp otherwise.',
    cost: 'tcpx refuses peers with tcp alone; memory that a plugin cannot reach goes over tcp.',
  },
  'engine.profile': {
    kind: 'text',
    fallback: '',
    value: 'FILE',
    flag: 'profile',
    summary:
      'File with settings that were measured to be best here, as bench sweep --save-profile ' +
      'writes it. They win over what is chosen automatically, and over defaults, alone.',
    cost: 'What was best for one size and one peer is kept for all of them.',
  },
  ...SESSION_SETTINGS,
  'flow.chunkBytes': {
    kind: 'bytes',
    fallback: 512 * KIB,
    minimum: 4 * KIB,
    maximum: 16 * MIB,
    flag: 'chunk',
    canBeAuto: true,
    aliases: ['UCCL_TCPX_CHUNK_BYTES', 'NCCL_P2P_NET_CHUNKSIZE', 'NCCL_DYNAMIC_CHUNK_SIZE'],
    summary:
      'Largest piece of a transfer that one channel carries at a time. Where neither end sets ' +
      'it: 512 KiB, and more to peers that are several milliseconds away.',
    cost: 'Smaller costs system calls and acknowledgements; larger makes striping coarser.',
  },
  'flow.windowChunks': {
    kind: 'count',
    fallback: 16,
    minimum: 1,
    maximum: 256,
    flag: 'window',
    canBeAuto: true,
    aliases: ['UCCL_TCPX_MAX_RECV_INFLIGHT', 'UCCL_TCPX_WINDOW_SIZE'],
    summary:
      'Chunks in flight on one channel before an acknowledgement must come back. Where neither ' +
      'end sets it: 16, and more where the largest chunks cannot fill the way to a far peer. ' +
      'Once set it is the plugin’s window too, unless that has its own; there 16 is the most.',
    cost: 'Smaller stalls long links; larger holds more unconfirmed data on a slow link.',
  },
  'flow.channels': {
    kind: 'count',
    fallback: 1,
    minimum: 1,
    maximum: 16,
    flag: 'channels',
    canBeAuto: true,
    aliases: ['UCCL_TCPX_NUM_CHANNELS'],
    summary:
      'Data connections to each peer. Where neither end sets it: one for each lane or NIC, of ' +
      'the end that has fewer; to far peers as many as the kernel’s buffers make necessary.',
    cost: 'Each costs a socket and its buffers on both ends.',
  },
  'flow.checksum': {
    kind: 'boolean',
    fallback: false,
    flag: 'checksum',
    summary:
      'CRC-32 over every frame of a session, heads and tables included, where either end asks ' +
      'for it; what arrives damaged is sent again.',
    cost: 'Both ends read every byte once more; see docs/reliability.md for the figures.',
  },
  'flow.receiveBytes': {
    kind: 'bytes',
    fallback: 128 * MIB,
    minimum: 1 * MIB,
    maximum: 64 * GIB,
    flag: 'receive-bytes',
    summary: 'What all senders together may have on their way to one lane; each gets its share.',
    cost: 'Lower bounds kernel memory with many peers; too low makes windows small.',
  },
  'flow.sendBytes': {
    kind: 'bytes',
    fallback: 128 * MIB,
    minimum: 1 * MIB,
    maximum: 64 * GIB,
    flag: 'send-bytes',
    summary:
      'What all channels of one lane together may leave unsent in the kernel; each gets its ' +
      'share, at least 64 KiB.',
    cost: 'Lower bounds kernel memory that peers who do not read take; too low costs throughput.',
  },
  'lane.count': {
    kind: 'count',
    fallback: 1,
    minimum: 1,
    maximum: 16,
    flag: 'lanes',
    canBeAuto: true,
    summary:
      'Worker threads that move data; channels are spread over them. Where it is not set: one ' +
      'for two CPUs, at most eight, and no more than there are NICs where NICs are named.',
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
    fallback: 200,
    minimum: 0,
    maximum: 100_000,
    flag: 'spin',
    canBeAuto: true,
    summary:
      'How long an idle lane, or a thread in wait(), looks again, at most, before it sleeps in ' +
      'the kernel. One for which nothing comes in that time does so for less, down to not at ' +
      'all. Where it is not set: not at all on one CPU, and 1000 in engines of a node service ' +
      'from 8 CPUs on.',
    cost: 'Longer burns a core for lower latency; 0 always sleeps.',
  },
  'lane.own': {
    kind: 'choice',
    fallback: 'auto',
    canBeAuto: true,
    choices: ['auto', 'on', 'off'],
    summary:
      'Whether the thread that posts moves transfers of less than 128 KiB itself while it polls, ' +
      'on a channel of its own, or leaves them to lanes like all others. auto: yes, but in ' +
      'engines of a node service only from 8 CPUs on. Where NICs are named, it never does.',
    cost:
      'on: such a transfer waits for no other thread, and stands still at this end while the ' +
      'program does something else than poll. One connection more where it is used.',
  },
  'lane.bindings': {
    kind: 'text',
    value: 'NIC:CPUS;...',
    fallback: '',
    flag: 'bindings',
    aliases: ['NCCL_GPUDIRECTTCPX_TX_BINDINGS'],
    summary: 'Cores for the lanes of each NIC, as eth1:8-21,112-125;eth2:8-21,112-125.',
    cost: 'Cores far from the NIC, or shared with its interrupts, slow the lane down.',
  },
  'lane.numa': {
    kind: 'choice',
    fallback: 'auto',
    choices: ['auto', 'off'],
    flag: 'numa',
    summary:
      'Whether a lane, its rings and its staging memory lie on the NUMA node of the NICs that it ' +
      'serves (session.nics), where the host says which that is. Cores may be named instead ' +
      '(lane.bindings).',
    cost: 'off leaves both to the kernel: payload may cross between nodes.',
  },
  'memory.regionsMax': {
    kind: 'count',
    fallback: 16_384,
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
  'memory.readsBytes': {
    kind: 'bytes',
    fallback: 512 * MIB,
    minimum: 1 * MIB,
    maximum: 64 * GIB,
    summary:
      'What the reads that peers may have asked for can take here, over all sessions: 16,000 ' +
      'bytes for each chunk of each channel’s window.',
    cost: 'A session that would take more is refused by that name.',
  },
  'memory.sharedBytes': {
    kind: 'bytes',
    fallback: 256 * MIB,
    minimum: 0,
    maximum: 64 * GIB,
    summary: 'Memory that channels to peers on this host may share with them: 516 KiB for each.',
    cost: 'Further sessions with such peers go over TCP, or are refused where they must share.',
  },
  'memory.arenaBytes': {
    kind: 'bytes',
    fallback: 256 * MIB,
    minimum: 1 * MIB,
    maximum: 4 * GIB,
    summary: 'Address space for prepared descriptor lists (32 bytes per descriptor).',
    cost: 'Reserved, not resident: pages are used only where descriptors lie.',
  },
  'memory.streamMax': {
    kind: 'count',
    fallback: 65_536,
    minimum: 16,
    maximum: 16_777_216,
    summary: 'Notifications that wait in one stream of `engine.notifications()`.',
    cost: 'A stream whose program does not keep up ends with an error; others go on.',
  },
  'memory.streamBytes': {
    kind: 'bytes',
    fallback: 64 * MIB,
    minimum: 64 * KIB,
    maximum: 16 * GIB,
    summary: 'Bytes of the notifications that wait in one stream of `engine.notifications()`.',
    cost: 'The same.',
  },
  'memory.spareControls': {
    kind: 'count',
    fallback: 64,
    minimum: 0,
    maximum: 16_384,
    summary: 'Buffers of control connections that are kept for the next, whatever a flood needed.',
    cost: '72 KiB each; without, a session takes longer to open.',
  },
  'memory.spareTables': {
    kind: 'count',
    fallback: 1024,
    minimum: 0,
    maximum: 65_536,
    summary: 'Tables of closed connections that each thread keeps for the next ones.',
    cost: '20 KiB of address space and 1 KiB each; a lane that keeps none leaks that KiB.',
  },
  'gpu.stagingBytes': {
    kind: 'bytes',
    fallback: 16 * MIB,
    minimum: 1 * MIB,
    maximum: 1 * GIB,
    flag: 'staging',
    summary: 'Pinned memory of each lane for each GPU and direction, cut into chunks.',
    cost: 'Pinned when memory of a GPU is registered first; too little stalls copies.',
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
    value: 'NAME',
    fallback: 'auto',
    flag: 'congestion',
    canBeAuto: true,
    summary:
      'TCP congestion control of data sockets: a name, for example cubic; `kernel` for the ' +
      'host’s default; or `auto`: the default too, but where that is BBR, peers nearer than a ' +
      'millisecond get cubic (or reno), because BBR’s pacing slows near transfers down.',
    cost:
      'An algorithm that the kernel does not offer, or not to this user, is an error. Where auto ' +
      'may choose neither cubic nor reno, near peers are paced, and 64 MiB over loopback went ' +
      'at 7.8 GB/s instead of 12.2 (two cores, decision 0501).',
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
  'socket.sendBy': {
    kind: 'choice',
    fallback: 'auto',
    choices: ['auto', 'splice', 'copy', 'zerocopy'],
    flag: 'send-by',
    canBeAuto: true,
    summary:
      'How payload leaves: as references to its pages (`splice`, for runs of 64 KiB and more), ' +
      'with MSG_ZEROCOPY (`zerocopy`, from 16 KiB on), or copied by the kernel. Answers to reads ' +
      'leave by reference from 128 KiB on, and without a checksum. `auto`: for each size of ' +
      'transfer by splice, unless copies prove faster by 5 % (below 128 KiB by copy, unless ' +
      'references prove faster by 3 %).',
    cost:
      'By reference, the source must not change before the transfer is confirmed, and ' +
      '`deregister` waits until peers have what they read. `splice` has a pipe per channel. ' +
      '`zerocopy` is copied over loopback anyway, and needs a locked-memory limit (ulimit -l) of ' +
      'the bytes in flight, else falls back.',
  },
} as const satisfies Readonly<Record<string, Setting>>;
