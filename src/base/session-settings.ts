// Settings of sessions and of trust in peers.

import type { Setting } from './setting.js';

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;

export const SESSION_SETTINGS = {
  'session.port': {
    kind: 'port',
    fallback: 20000,
    minimum: 0,
    maximum: 65535,
    flag: 'port',
    aliases: ['UCCL_TCPX_BOOTSTRAP_PORT_BASE', 'UCCL_TCPX_OOB_PORT', 'UCCL_TCPX_CTRL_PORT'],
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
    fallback: 'auto',
    choices: ['auto', 'tcp', 'shm'],
    flag: 'local',
    summary: 'Peers on this host: `auto` shares memory if it can, `tcp` never, `shm` or nothing.',
    cost: '`shm` refuses peers elsewhere. Shared memory: 516 KiB for each channel.',
  },
  'session.peersMax': {
    kind: 'count',
    fallback: 1024,
    minimum: 1,
    maximum: 16_384,
    summary: 'Sessions that one engine holds at a time.',
    cost: 'About 200 KiB for each with one channel; memory.readsBytes bounds the channels.',
  },
  'session.handshakesMax': {
    kind: 'count',
    fallback: 256,
    minimum: 8,
    maximum: 16_384,
    summary: 'Connections that may be open at a time before they have proved who they are.',
    cost: 'Beyond it the oldest of the host that holds most is refused by that name; 80 KiB each.',
  },
  'session.fencesMax': {
    kind: 'count',
    fallback: 128,
    minimum: 8,
    maximum: 4096,
    summary: 'Lost connections of a session of which the peer has not said what had landed.',
    cost: 'A peer that leaves more unanswered loses its session.',
  },
  'session.offersMax': {
    kind: 'count',
    fallback: 65_536,
    minimum: 16,
    maximum: 1_048_576,
    summary: 'Receives that a peer of a p2p session may have posted before the sends for them.',
    cost: 'A peer that posts more loses its session; some 500 bytes each.',
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
} as const satisfies Readonly<Record<string, Setting>>;
