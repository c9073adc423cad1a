// What a collector wrote about NICs: `=== eth1 ===` sections with the output of ethtool and with
// lines for PCI address and node. Whatever a section does not say stays undefined. Pure.

import type {
  EthtoolChannels,
  EthtoolData,
  EthtoolDriver,
  EthtoolFeature,
  EthtoolRings,
} from '../read/ethtool-data.js';
import { normalisePciAddress } from '../read/pci.js';
import { sectionName } from './sample-series.js';

export interface NicInfo {
  readonly name: string;
  readonly pciAddress: string | undefined;
  /** undefined also where the platform says -1. */
  readonly node: number | undefined;
  readonly speedMbps: number | undefined;
  readonly hasCarrier: boolean | undefined;
  readonly mtu: number | undefined;
  readonly ethtool: EthtoolData;
}

/** Blocks that ethtool prints, by their first line; one collector calls some otherwise. */
const BLOCKS: readonly (readonly [RegExp, string])[] = [
  [/statistics/i, 'statistics'],
  [/^driver info/i, 'driver'],
  [/^features for/i, 'features'],
  [/^private flags/i, 'flags'],
  [/^ring parameters/i, 'rings'],
  [/^channel parameters/i, 'channels'],
  [/^settings for/i, 'settings'],
];
/** Halves of the blocks about rings and channels. */
const MAXIMUM = /^pre-set maximums/i;
const CURRENT = /^current hardware settings/i;

const ADDRESS = /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/i;

export function parseNicInfo(text: string): readonly NicInfo[] {
  const sections = new Map<string, string[]>();
  let lines: string[] | undefined;
  for (const line of text.split('\n')) {
    const name = sectionName(line);
    if (name !== undefined) {
      lines = sections.get(name) ?? [];
      sections.set(name, lines);
    } else lines?.push(line);
  }
  return [...sections].map(([name, own]) => nicOf(name, collect(own)));
}

interface Collected {
  /** Values by `block key`, in lower case; later ones win. */
  readonly values: Map<string, string>;
  readonly statistics: Record<string, number>;
  readonly features: Record<string, EthtoolFeature>;
  readonly flags: Record<string, boolean>;
}

function collect(lines: readonly string[]): Collected {
  const found: Collected = { values: new Map(), statistics: {}, features: {}, flags: {} };
  let block = '';
  let half = '';
  for (const line of lines) {
    const head =
      /^\s*([A-Z][^:]*):\s*$/.exec(line)?.[1] ?? /^(.*statistics.*):\s*$/i.exec(line)?.[1];
    if (head !== undefined) {
      if (MAXIMUM.test(head)) half = 'max';
      else if (CURRENT.test(head)) half = '';
      else {
        block = BLOCKS.find(([pattern]) => pattern.test(head))?.[1] ?? '';
        half = '';
      }
      continue;
    }
    const match = /^\s*([^:]+?)\s*:\s*(.*?)\s*$/.exec(line);
    if (match !== null) take(found, block, half, match[1] ?? '', match[2] ?? '');
  }
  return found;
}

function take(found: Collected, block: string, half: string, key: string, value: string): void {
  const isOn = value.startsWith('on');
  if (block === 'features') {
    if (!/^(on|off)\b/.test(value)) return;
    found.features[key] = { isActive: isOn, isFixed: value.includes('[fixed]') };
  } else if (block === 'flags') {
    if (/^(on|off)$/.test(value)) found.flags[key] = isOn;
  } else if (/^\d+$/.test(value) && isStatistic(block, key)) {
    found.statistics[key] = Number(value);
  } else found.values.set(`${block}${half} ${key}`.toLowerCase().trim(), value);
}

// Outside a block of statistics only names that no other output of ethtool has.
function isStatistic(block: string, key: string): boolean {
  return block === 'statistics' || (block === '' && /^(rx|tx)_[a-z]\S*$/.test(key));
}

function nicOf(name: string, { values, statistics, features, flags }: Collected): NicInfo {
  const first = (...keys: readonly string[]) =>
    keys.map((key) => values.get(key)).find((value) => value !== undefined && value !== '');
  const bus = first('driver bus-info', 'bus-info', 'pci', 'pci address');
  const node = first('numa', 'numa node', 'numa_node');
  const speed = /^(\d+) ?Mb\/s$/.exec(first('settings speed', 'speed') ?? '')?.[1];
  const link = first('settings link detected', 'link detected');
  const mtu = first('mtu');
  return {
    name,
    pciAddress: bus !== undefined && ADDRESS.test(bus) ? normalisePciAddress(bus) : undefined,
    node: node !== undefined && /^\d+$/.test(node) ? Number(node) : undefined,
    speedMbps: speed === undefined || Number(speed) === 0 ? undefined : Number(speed),
    hasCarrier: link === 'yes' ? true : link === 'no' ? false : undefined,
    mtu: mtu !== undefined && /^\d+$/.test(mtu) ? Number(mtu) : undefined,
    ethtool: {
      source: 'capture',
      driver: driverOf(values, bus),
      link: undefined,
      channels: channelsOf(values),
      rings: ringsOf(values),
      coalesce: undefined,
      features,
      privateFlags: flags,
      statistics,
      gaps: [],
    },
  };
}

type Values = ReadonlyMap<string, string>;

function driverOf(values: Values, bus: string | undefined): EthtoolDriver | undefined {
  const driver = values.get('driver driver') ?? values.get('driver');
  if (driver === undefined || driver === '') return undefined;
  return {
    driver,
    version: values.get('driver version') ?? values.get('version') ?? '',
    firmwareVersion: values.get('driver firmware-version') ?? values.get('firmware-version') ?? '',
    busInfo: bus ?? '',
  };
}

/** `n/a` and absence alike are unknown; ethtool leaves out what a driver does not have. */
function numberOf(values: Values, key: string): number | undefined {
  const text = values.get(key);
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

function channelsOf(values: Values): EthtoolChannels | undefined {
  const rx = numberOf(values, 'channels rx');
  const tx = numberOf(values, 'channels tx');
  const combined = numberOf(values, 'channels combined');
  if (rx === undefined && tx === undefined && combined === undefined) return undefined;
  // ethtool prints `n/a` for kinds that the driver does not have: there are none of them.
  return {
    rx: rx ?? 0,
    tx: tx ?? 0,
    combined: combined ?? 0,
    other: numberOf(values, 'channels other') ?? 0,
    rxMax: numberOf(values, 'channelsmax rx') ?? 0,
    txMax: numberOf(values, 'channelsmax tx') ?? 0,
    combinedMax: numberOf(values, 'channelsmax combined') ?? 0,
  };
}

function ringsOf(values: Values): EthtoolRings | undefined {
  const rx = numberOf(values, 'rings rx');
  const tx = numberOf(values, 'rings tx');
  const rxMax = numberOf(values, 'ringsmax rx');
  const txMax = numberOf(values, 'ringsmax tx');
  if (rx === undefined || tx === undefined || rxMax === undefined || txMax === undefined) {
    return undefined;
  }
  const split = values.get('rings tcp data split');
  return {
    rx,
    tx,
    rxMax,
    txMax,
    tcpDataSplit: split === 'on' || split === 'off' ? split : undefined,
  };
}
