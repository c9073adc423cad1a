// Settings of the NIXL agent: its metadata listener and stores, telemetry.

import type { Setting } from './setting.js';

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;

export const NIXL_SETTINGS = {
  'nixl.listenPort': {
    kind: 'port',
    fallback: 8888,
    minimum: 0,
    maximum: 65535,
    summary: 'Port of the agent’s metadata listener; 0 lets the kernel choose.',
    cost: 'Other agents look for 8888 unless told.',
  },
  'nixl.listenHost': {
    kind: 'text',
    fallback: '127.0.0.1',
    summary: 'Address of the agent’s metadata listener.',
    cost:
      'The listener’s protocol proves nothing about the sender: beyond loopback, whoever reaches ' +
      'the port can push and pull metadata.',
  },
  'nixl.metadataBytesMax': {
    kind: 'bytes',
    fallback: 64 * MIB,
    minimum: 64 * KIB,
    maximum: 1 * GIB,
    summary: 'Largest metadata blob that is accepted from a peer or a store.',
    cost: 'Those that are arriving may hold nixl.listenerBytesMax together.',
  },
  'nixl.listenerBytesMax': {
    kind: 'bytes',
    fallback: 128 * MIB,
    minimum: 64 * KIB,
    maximum: 16 * GIB,
    summary: 'What all metadata that is arriving at the listener may hold together.',
    cost: 'Beyond it the connection that holds most is cut off, and the log names it.',
  },
  'nixl.peersMax': {
    kind: 'count',
    fallback: 4096,
    minimum: 1,
    maximum: 65_536,
    summary: 'Agents that one agent knows at a time.',
    cost: 'What the program asks for has precedence: it makes one that was pushed be forgotten.',
  },
  'nixl.remoteRegionsMax': {
    kind: 'count',
    fallback: 1_048_576,
    minimum: 16,
    maximum: 16_777_216,
    summary: 'Regions of other agents that one agent knows at a time.',
    cost: 'Some 500 bytes each.',
  },
  'nixl.pushedPerHostMax': {
    kind: 'count',
    fallback: 1024,
    minimum: 1,
    maximum: 65_536,
    summary: 'Agents that one host may push to the listener unasked.',
    cost: 'A host with more agents is refused by that name, in the log.',
  },
  'nixl.pushedRegionsMax': {
    kind: 'count',
    fallback: 262_144,
    minimum: 16,
    maximum: 16_777_216,
    summary: 'Regions of all agents that one host may push to the listener unasked.',
    cost: 'An agent with more is refused by that name, in the log; fetch its metadata instead.',
  },
  'nixl.inboxBytesMax': {
    kind: 'bytes',
    fallback: 256 * MIB,
    minimum: 1 * MIB,
    maximum: 16 * GIB,
    summary: 'Notifications that wait in an agent, whole or in parts, of all peers together.',
    cost: 'Beyond it the peer that holds most loses its session and what waits of it.',
  },
  'nixl.inboxPeerBytesMax': {
    kind: 'bytes',
    fallback: 128 * MIB,
    minimum: 1 * MIB,
    maximum: 16 * GIB,
    summary: 'Notifications of one session that wait in an agent, whole or in parts.',
    cost: 'A peer that sends more before the program collects them loses its session.',
  },
  'nixl.etcdEndpoints': {
    kind: 'text',
    fallback: '',
    aliases: ['NIXL_ETCD_ENDPOINTS'],
    summary: 'etcd servers for metadata, comma-separated URLs; empty means none.',
    cost: 'Excludes nixl.tcpStoreEndpoint.',
  },
  'nixl.etcdNamespace': {
    kind: 'text',
    fallback: '/nixl/agents/',
    aliases: ['NIXL_ETCD_NAMESPACE'],
    summary: 'Prefix of the keys in etcd.',
    cost: 'All agents of a deployment must share it.',
  },
  'nixl.etcdWatchTimeoutMs': {
    kind: 'ms',
    fallback: 5000,
    minimum: 0,
    maximum: 600_000,
    summary: 'How long a fetch waits for a key that is not there yet.',
    cost: 'Higher delays the error about a peer that never publishes.',
  },
  'nixl.etcdLeaseSeconds': {
    kind: 'count',
    fallback: 30,
    minimum: 0,
    maximum: 86_400,
    summary: 'Life of this agent’s keys in etcd after it dies; 0 keeps them for ever.',
    cost: 'Shorter costs a keep-alive every third of it; peers drop an agent that stalls longer.',
  },
  'nixl.tcpStoreEndpoint': {
    kind: 'text',
    fallback: '',
    aliases: ['NIXL_TCPSTORE_ENDPOINT'],
    summary: 'A PyTorch TCPStore for metadata, as host:port; empty means none.',
    cost: 'Excludes nixl.etcdEndpoints; peers are not told when an agent withdraws.',
  },
  'nixl.tcpStoreTimeoutMs': {
    kind: 'ms',
    fallback: 30_000,
    minimum: 0,
    maximum: 600_000,
    aliases: ['NIXL_TCPSTORE_TIMEOUT_MS'],
    summary: 'Longest wait for the first connection, and for a key that is not there yet.',
    cost: 'Higher delays the error about a store or a peer that never comes.',
  },
  'nixl.tcpStoreOpTimeoutMs': {
    kind: 'ms',
    fallback: 5000,
    minimum: 50,
    maximum: 600_000,
    aliases: ['NIXL_TCPSTORE_OP_TIMEOUT_MS'],
    summary: 'Longest wait for one answer of the TCPStore.',
    cost: 'Lower fails sooner on a slow store.',
  },
  'nixl.telemetry': {
    kind: 'choice',
    fallback: 'auto',
    choices: ['auto', 'on', 'off', 'true', 'false', '1', '0', 'yes', 'no', 'y', 'n'],
    aliases: ['NIXL_TELEMETRY_ENABLE'],
    summary: 'Agent telemetry: on, off whatever the program asks, or as the program asks (auto).',
    cost: 'Two clock readings per post and one per completion.',
  },
} as const satisfies Readonly<Record<string, Setting>>;
