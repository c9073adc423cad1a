// Which NICs, GPUs and processes a provider uses: rails, and how they are grouped. Pure.

import { type ErrorFacts, TcpxError } from '../../base/errors.js';
import { type SettingName, type SettingValues, settingOf } from '../../base/settings.js';
import { REQUEST_POOL } from '../../flow/sliding-window.hot.js';
import { FRAGMENTS_MAX } from '../../gpu/scatter-entry.js';

export interface Rail {
  readonly nic: string;
  /** The GPU whose context is current when channels of the NIC are set up. */
  readonly gpu: number;
}

/** Rails that share a plugin process. */
export interface RailGroup {
  readonly name: string;
  readonly gpu: number;
  readonly nics: readonly string[];
}

/** Names in the order given; empty when the plugin is to be asked. */
export function namedNics(list: string): string[] {
  if (list.startsWith('^')) return [];
  return list
    .replace(/^=/, '')
    .split(',')
    .filter((name) => name !== '');
}

/** GPUs behind each NIC, as the PCI tree has it; a NIC that is not in it is not known. */
export type NicGpus = ReadonlyMap<string, readonly number[]>;

export interface RailWish {
  /** Empty takes the NICs of the GPU, or of all GPUs. */
  readonly nics: readonly string[];
  /** Whose memory is moved; undefined where no GPU is meant. */
  readonly gpu: number | undefined;
  /** Undefined where the host's PCI tree says nothing: no GPU, or emulated NICs. */
  readonly nicGpus: NicGpus | undefined;
  /** `tcpx.railGpus`: pairs that are taken as they are. */
  readonly railGpus: string;
}

/**
 * The NICs and the rail GPU of each: named by hand, else the wished GPU where it is behind the NIC,
 * else the first that is. A NIC with no GPU behind it, or a GPU behind none of the NICs, is refused
 * here: the plugin ends its process over it. Empty where the plugin is to be asked for its NICs.
 */
export function planRails(wish: RailWish): Rail[] {
  const { gpu, nicGpus } = wish;
  const byHand = parseRailGpus(wish.railGpus);
  const nics = wish.nics.length > 0 ? wish.nics : defaultNics(gpu, nicGpus);
  const rails = nics.map((nic) => {
    const behind = nicGpus?.get(nic);
    const isWished = gpu !== undefined && (behind === undefined || behind.includes(gpu));
    const chosen = byHand.get(nic) ?? (isWished ? gpu : behind === undefined ? 0 : behind[0]);
    if (chosen === undefined) throw noGpuError(nic, nicGpus);
    return { nic, gpu: chosen };
  });
  const isReached = (nic: string): boolean =>
    byHand.has(nic) || gpu === undefined || nicGpus?.get(nic)?.includes(gpu) !== false;
  if (gpu === undefined || rails.length === 0 || nics.some(isReached)) return rails;
  throw unreachedError(gpu, nics, nicGpus);
}

function defaultNics(gpu: number | undefined, nicGpus: NicGpus | undefined): string[] {
  const known = [...(nicGpus ?? [])].filter(([, gpus]) => gpus.length > 0);
  if (gpu === undefined || known.length === 0) return known.map(([nic]) => nic);
  const own = known.filter(([, gpus]) => gpus.includes(gpu)).map(([nic]) => nic);
  if (own.length > 0) return own;
  throw unreachedError(gpu, [], nicGpus);
}

function noGpuError(nic: string, nicGpus: NicGpus | undefined): TcpxError {
  return pairError(`${nic}: no GPU is behind it by the PCI tree`, nicGpus, { nic });
}

function unreachedError(
  gpu: number,
  nics: readonly string[],
  nicGpus: NicGpus | undefined,
): TcpxError {
  const where = nics.length === 0 ? 'any NIC' : nics.join(', ');
  return pairError(`GPU ${gpu} is not behind ${where} by the PCI tree`, nicGpus, { gpu });
}

function pairError(what: string, nicGpus: NicGpus | undefined, facts: ErrorFacts): TcpxError {
  const pairs = [...(nicGpus ?? [])].filter(([, gpus]) => gpus.length > 0);
  const known = pairs.map(([nic, gpus]) => `${nic} has GPU ${gpus.join(' and ')}`).join(', ');
  return new TcpxError(
    'ERR_CONFIG_CONFLICT',
    `${what} (${known === '' ? 'no NIC has one' : known}); the plugin would end with ` +
      '"rx no cmsg". Name another NIC or GPU, or the pair itself with --rail-gpus NIC=GPU',
    { facts },
  );
}

function parseRailGpus(railGpus: string): Map<string, number> {
  const gpus = new Map<string, number>();
  for (const pair of railGpus.split(',').filter((text) => text !== '')) {
    const match = /^([^=]+)=(\d+)$/.exec(pair);
    if (match?.[1] === undefined) {
      throw new TcpxError(
        'ERR_CONFIG_VALUE',
        `tcpx.railGpus: ${JSON.stringify(pair)} is not NIC=GPU, for example eth1=0`,
      );
    }
    gpus.set(match[1], Number(match[2]));
  }
  return gpus;
}

export function groupRails(
  rails: readonly Rail[],
  processes: SettingValues['tcpx.processes'],
): RailGroup[] {
  const groups = new Map<string, { gpu: number; nics: string[] }>();
  for (const { nic, gpu } of rails) {
    const key = processes === 'rail' ? nic : processes === 'gpu' ? `gpu ${gpu}` : 'all';
    const group = groups.get(key) ?? { gpu, nics: [] };
    group.nics.push(nic);
    groups.set(key, group);
  }
  const gpus = [...new Set(rails.map(({ gpu }) => gpu))];
  if (processes === 'one' && gpus.length > 1) {
    throw new TcpxError(
      'ERR_CONFIG_CONFLICT',
      `tcpx.processes: one process has one GPU, the rails have ${gpus.join(', ')}: ` +
        `${rails.map(({ nic, gpu }) => `${nic}=${gpu}`).join(', ')}; use rail or gpu`,
    );
  }
  return [...groups].map(([, { gpu, nics }]) => ({ name: nics.join('+'), gpu, nics }));
}

/** NIC of each channel: round-robin, at least one channel per NIC. */
export function channelNics(nics: readonly string[], channels: number): string[] {
  const count = Math.max(channels, nics.length);
  return Array.from({ length: count }, (_, index) => nics[index % nics.length] ?? '');
}

/** `2,1,1` or empty; one share per channel. */
export function parseWeights(text: string, channelCount: number): number[] {
  if (text === '' || text === 'measured') return new Array<number>(channelCount).fill(1);
  const weights = text.split(',').map(Number);
  const isGood =
    weights.length === channelCount && weights.every((w) => Number.isInteger(w) && w >= 0);
  if (isGood) return weights;
  throw new TcpxError(
    'ERR_CONFIG_VALUE',
    `tcpx.weights: ${JSON.stringify(text)} is not ${channelCount} integers, one per channel`,
  );
}

const WINDOWS = ['tcpx.sendWindow', 'tcpx.recvWindow'] as const satisfies readonly SettingName[];

const PAGE_BYTES = 4096;
/** Fragments are at most a page. */
const CHUNK_BYTES_MAX = FRAGMENTS_MAX * PAGE_BYTES;

/** A message of more fragments than a list holds ends the plugin's process. */
export function checkChunk(values: SettingValues): void {
  const chunkBytes = values['flow.chunkBytes'];
  if (values['tcpx.hostRecv'] || chunkBytes <= CHUNK_BYTES_MAX) return;
  throw new TcpxError(
    'ERR_CONFIG_VALUE',
    `flow.chunkBytes: a message of ${chunkBytes} bytes needs more than the ${FRAGMENTS_MAX} ` +
      `fragments that the plugin takes; lower --chunk to ${CHUNK_BYTES_MAX} or less`,
    { facts: { name: 'flow.chunkBytes', value: chunkBytes } },
  );
}

/** A window that the tcp provider would take may be more than the plugin has requests. */
export function checkWindows(values: SettingValues): void {
  for (const name of WINDOWS) {
    if (values[name] <= REQUEST_POOL) continue;
    const { flag = '', aliases = [] } = settingOf(name);
    throw new TcpxError(
      'ERR_CONFIG_VALUE',
      `${name}: ${values[name]} in flight on a channel, but the plugin has a pool of ` +
        `${REQUEST_POOL} requests per channel (--${flag}, --window, ${aliases.join(', ')})`,
      { facts: { name, value: values[name], pool: REQUEST_POOL } },
    );
  }
}
