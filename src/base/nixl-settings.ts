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
    cost: 'Each connection may hold this much while a blob arrives.',
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
