// Settings of the engine: log, sessions, trust, flow, lanes, memory, sockets.

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
    value: 'ADDRESS',
    fallback: '',
    flag: 'bind',
    summary: 'Address to listen on; empty means loopback without a secret, all addresses with one.',
    cost: 'A wider address is reachable by more hosts.',
  },
  'session.ctrlInterface': {
    kind: 'text',
    value: 'NIC',
    fallback: '',
    flag: 'ctrl',
    aliases: ['NCCL_GPUDIRECTTCPX_CTRL_DEV', 'NCCL_SOCKET_IFNAME'],
    summary:
      'Interface of the control connection, for example eth0; empty lets routing decide. One ' +
      'that was lost may come back over the NICs of the channels.',
    cost: 'Needs CAP_NET_RAW on kernels before 5.7.',
  },
  'session.nics': {
    kind: 'text',
    value: 'NIC,...',
    fallback: '',
    flag: 'nics',
    aliases: ['NCCL_GPUDIRECTTCPX_SOCKET_IFNAME'],
    summary: 'Interfaces for data channels, comma-separated; channels go round-robin over them.',
    cost:
      'A named interface that is absent or down is an error, not a fallback. Of the addresses ' +
      'that a server has for data, a client uses those in the networks of its own named here. ' +
      'Each has an address of the family, IPv4 or IPv6, by which the peer is connected.',
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
  'session.stallMs': {
    kind: 'ms',
    fallback: 200,
    minimum: 100,
    maximum: 60_000,
    flag: 'stall',
    summary: 'How long a channel with data in flight may stand still before others take over.',
    cost: 'Too low gives up channels to a peer that was only paused; 60 ms of grace are added.',
  },
  'session.reconnectMs': {
    kind: 'ms',
    fallback: 5000,
    minimum: 100,
    maximum: 600_000,
    flag: 'reconnect',
    summary: 'How long a session without any moving channel is kept before it is lost.',
    cost: 'Transfers in flight wait that long for a peer that is stopped or cut off.',
  },
  'session.progressMs': {
    kind: 'ms',
    fallback: 5000,
    minimum: 100,
    maximum: 600_000,
    flag: 'progress-timeout',
    summary:
      'How long, beyond session.reconnectMs, a peer may confirm less than session.minRateBytes ' +
      'of what is in flight before its session is lost.',
    cost: 'Lower loses peers that are only busy; a target in `caller` mode must poll within it.',
  },
  'session.minRateBytes': {
    kind: 'bytes',
    fallback: 256 * KIB,
    minimum: 1,
    maximum: 64 * GIB,
    flag: 'min-rate',
    summary: 'Bytes per second that a session with transfers in flight must confirm at least.',
    cost: 'Higher loses peers on slow links; lower lets a peer that trickles hold transfers.',
  },
  'session.controlTimeoutMs': {
    kind: 'ms',
    fallback: 3000,
    minimum: 1000,
    maximum: 600_000,
    flag: 'control-timeout',
    summary: 'How long the control connection may get no answer from the peer’s kernel.',
    cost: 'Lower notices a silent death sooner; an outage of that length costs a new connection.',
  },
  'session.local': {
    kind: 'choice',
    fallback: 'tcp',
    choices: ['tcp', 'shm'],
    flag: 'local',
    summary: '`shm`: data channels run over shared memory. Both ends ask for it, on one host.',
    cost: 'Peers elsewhere, or that do not ask for it, are refused; 2 MiB of /dev/shm per channel.',
  },
  'session.peersMax': {
    kind: 'count',
    fallback: 1024,
    minimum: 1,
    maximum: 16_384,
    summary: 'Sessions that one engine holds at a time.',
    cost: 'About 200 KiB for each with one channel; memory.readsBytes bounds the channels.',
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
    value: 'FILE',
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
    canBeAuto: true,
    aliases: ['UCCL_TCPX_NUM_CHANNELS'],
    summary:
      'Data connections to each peer. Where neither end sets it: one for each lane or NIC, of ' +
      'the end that has fewer.',
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
    summary:
      'How long an idle lane, or a thread in wait(), looks again, at most, before it sleeps in ' +
      'the kernel. One for which nothing comes in that time does so for less, down to not at all.',
    cost: 'Longer burns a core for lower latency; 0 always sleeps.',
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
    fallback: 256 * MIB,
    minimum: 1 * MIB,
    maximum: 64 * GIB,
    summary:
      'What the reads that peers may have asked for can take here, over all sessions: 16,000 ' +
      'bytes for each chunk of each channel’s window.',
    cost: 'A session that would take more is refused by that name.',
  },
  'memory.arenaBytes': {
    kind: 'bytes',
    fallback: 256 * MIB,
    minimum: 1 * MIB,
    maximum: 4 * GIB,
    summary: 'Address space for prepared descriptor lists (32 bytes per descriptor).',
    cost: 'Reserved, not resident: pages are used only where descriptors lie.',
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
    cost: 'An algorithm that the kernel does not offer, or not to this user, is an error.',
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
    fallback: 'splice',
    choices: ['splice', 'copy', 'zerocopy'],
    flag: 'send-by',
    summary:
      'How payload leaves: as references to its pages (`splice`, for runs of 64 KiB and more), ' +
      'with MSG_ZEROCOPY (`zerocopy`, from 16 KiB on), or copied by the kernel. Answers to reads ' +
      'leave by reference from 128 KiB on, and without a checksum.',
    cost:
      'By reference, the source must not change before the transfer is confirmed, and ' +
      '`deregister` waits until peers have what they read. `splice` has a pipe per channel. ' +
      '`zerocopy` is copied over loopback anyway, and needs a locked-memory limit (ulimit -l) of ' +
      'the bytes in flight, else falls back.',
  },
} as const satisfies Readonly<Record<string, Setting>>;
