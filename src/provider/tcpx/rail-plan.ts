// Which NICs, GPUs and processes a provider uses: rails, and how they are grouped. Pure.

import { TcpxError } from '../../base/errors.js';
import { type SettingName, settingOf, type SettingValues } from '../../base/settings.js';
import { REQUEST_POOL } from '../../flow/sliding-window.hot.js';

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

export function railsOf(nics: readonly string[], railGpus: string): Rail[] {
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
  return nics.map((nic) => ({ nic, gpu: gpus.get(nic) ?? 0 }));
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

/** A window that the tcp provider would take may be more than the plugin has requests. */
export function checkWindows(values: SettingValues): void {
  for (const name of WINDOWS) {
    if (values[name] <= REQUEST_POOL) continue;
    const { flag = '', aliases = [] } = settingOf(name);
    throw new TcpxError(
      'ERR_CONFIG_VALUE',
      `${name}: ${values[name]} in flight on a channel, but the plugin has a pool of ` +
        `${REQUEST_POOL} requests per channel (--${flag}, ${aliases.join(', ')})`,
      { facts: { name, value: values[name], pool: REQUEST_POOL } },
    );
  }
}
