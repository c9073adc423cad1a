// Settings of the node service: where it is found, and what each of its clients may have.

import type { Setting } from './setting.js';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

export const SERVICE_SETTINGS = {
  'service.folder': {
    kind: 'text',
    fallback: '',
    flag: 'folder',
    value: 'DIR',
    summary:
      'Runtime folder of the service, with its socket and its lock; empty means ' +
      '$XDG_RUNTIME_DIR/nixl-tcpx, or /tmp/nixl-tcpx-UID where that is not set.',
    cost: 'One service per folder; clients must be told the same one.',
  },
  'service.autostart': {
    kind: 'boolean',
    fallback: false,
    summary:
      'The library starts a service where none answers. A service that finds it set ends by ' +
      'itself after service.idleMs without clients.',
    cost: 'The first client of a node waits for the start, about a second.',
  },
  'service.command': {
    kind: 'text',
    fallback: 'tcpx serve',
    summary:
      'What the library runs to start a service, in /, without a shell: its words are divided by ' +
      'blanks. See service.autostart.',
    cost: 'Words of the environment become a command: leave it alone where others can set them.',
  },
  'service.answerMs': {
    kind: 'ms',
    fallback: 30_000,
    minimum: 100,
    maximum: 3_600_000,
    summary:
      'How long the library waits for an answer of the service; then it counts as gone. Read ' +
      'from the environment of the program.',
    cost: 'Shorter, and a node under load loses services that are merely slow.',
  },
  'service.idleMs': {
    kind: 'ms',
    fallback: 60_000,
    minimum: 100,
    maximum: 86_400_000,
    summary: 'How long a service that was started on demand outlives its last client.',
    cost: 'Shorter means more starts.',
  },
  'service.spinUs': {
    kind: 'us',
    fallback: 100,
    minimum: 0,
    maximum: 100_000,
    summary:
      'How long the service looks at its rings again, at most, before it sleeps. Where nothing ' +
      'comes in that time it looks for less, down to not at all. Where it is not set, 1000 from ' +
      '8 CPUs on.',
    cost: 'Occupies a core while it looks; a sleeping service answers some ten µs later.',
  },
  'service.clientsMax': {
    kind: 'count',
    fallback: 64,
    minimum: 1,
    maximum: 1024,
    flag: 'clients',
    summary: 'Clients that may be attached at a time; one more is refused with ERR_LIMIT.',
    cost:
      'Each has an engine of its own: some MiB, a listening port, a lane thread, and with its ' +
      'first large transfer one for two CPUs, at most eight (lane.count).',
  },
  'service.strangersMax': {
    kind: 'count',
    fallback: 32,
    minimum: 1,
    maximum: 1024,
    summary: 'Connections that have not said yet what they are, beside the attached clients.',
    cost: 'One more is refused with ERR_LIMIT.',
  },
  'service.requestsMax': {
    kind: 'count',
    fallback: 1024,
    minimum: 1,
    maximum: 16_384,
    summary: 'Requests that a client may have prepared at a time.',
    cost: '64 bytes of shared memory each.',
  },
  'service.blocksMax': {
    kind: 'count',
    fallback: 1_048_576,
    minimum: 1,
    maximum: 4_194_304,
    summary: 'Blocks of one request.',
    cost: 'The service reads 32 bytes for each from the socket, and other clients wait meanwhile.',
  },
  'service.peersMax': {
    kind: 'count',
    fallback: 1024,
    minimum: 1,
    maximum: 16_384,
    summary: 'Peers that a client may have loaded at a time.',
    cost: '64 bytes of shared memory each.',
  },
  'service.remoteRegionsMax': {
    kind: 'count',
    fallback: 65_536,
    minimum: 1,
    maximum: 1_048_576,
    summary: 'Regions of peers that a client may have loaded at a time.',
    cost: 'Some hundred bytes of the service’s memory each.',
  },
  'service.inboxBytes': {
    kind: 'bytes',
    fallback: 64 * MIB,
    minimum: 1 * MIB,
    maximum: 1 * GIB,
    summary:
      'Notifications that wait for a client that does not fetch them; the peer that exceeds it ' +
      'loses its session.',
    cost: 'Memory of the service, per client.',
  },
} as const satisfies Readonly<Record<string, Setting>>;
