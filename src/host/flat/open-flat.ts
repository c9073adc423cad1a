// Opens a flat bundle as a host. A bundle around a run holds two moments, and perhaps samples in
// between: `wanted` says which end is meant.

import { readFileSync, statSync } from 'node:fs';
import { captureProbes, GPU_QUERY_FIELDS } from '../read/probes.js';
import type { ReadGap } from '../read/read-gap.js';
import type { HostSource } from '../read/read-host.js';
import { openTreeFiles } from '../read/tree-files.js';
import { parseAffinityText } from './affinity-text.js';
import { type FlatFile, listFlatFolder, readFlatArchive, readFlatFile } from './flat-files.js';
import {
  type FlatKind,
  type FlatMomentWanted,
  type FlatPart,
  filesFor,
  flatKindOf,
  partsOf,
  seriesFiles,
} from './flat-parts.js';
import { buildFlatTree, type FlatFacts } from './flat-tree.js';
import { type LscpuFacts, parseLscpu } from './lscpu-text.js';
import { type NicInfo, parseNicInfo } from './nic-info-text.js';
import { type Sample, splitInterruptSeries, splitNicSeries } from './sample-series.js';

/** Folders of a captured tree: a bundle beside them is not what is meant. */
const TREE_NAMES = /^(proc|sys|tcpx-capture)(\/|$)/;

/** The parts of a bundle; undefined when the path is none. Only files and folders are looked at. */
export function readFlatParts(path: string): readonly FlatPart[] | undefined {
  const kind = statSync(path);
  if (!kind.isDirectory() && !kind.isFile()) return undefined;
  const files = kind.isDirectory() ? folderFiles(path) : archiveFiles(path);
  if (files === undefined || files.some(({ name }) => TREE_NAMES.test(name))) return undefined;
  const parts = partsOf(files);
  // One lone file such as `env.txt` makes no bundle.
  const isBundle = parts.some(
    ({ kind }) => kind === 'interrupts' || kind === 'nics' || kind === 'cpus',
  );
  return isBundle ? parts : undefined;
}

function archiveFiles(path: string): readonly FlatFile[] | undefined {
  try {
    return readFlatArchive(readFileSync(path));
  } catch {
    // Whoever opens it next says why it cannot be read.
    return undefined;
  }
}

function folderFiles(path: string): readonly FlatFile[] | undefined {
  const names = listFlatFolder(path);
  if (names === undefined || names.some((name) => TREE_NAMES.test(name))) return undefined;
  const wanted = names.filter((name) => flatKindOf(name) !== undefined);
  return wanted.map((name) => readFlatFile(path, name)).filter((file) => file !== undefined);
}

export function openFlatHost(
  parts: readonly FlatPart[],
  path: string,
  wanted: FlatMomentWanted,
): HostSource {
  const gaps: ReadGap[] = [];
  const { tree, gaps: treeGaps } = buildFlatTree(gatherFacts(parts, wanted, gaps));
  const files = openTreeFiles(tree, path);
  files.gaps.push(...gaps, ...treeGaps);
  return { files, probes: captureProbes(files) };
}

/** Every kind of file from the first that holds what its name promises. */
function gatherFacts(
  parts: readonly FlatPart[],
  wanted: FlatMomentWanted,
  gaps: ReadGap[],
): FlatFacts {
  const first = <T>(
    kind: FlatKind,
    what: string,
    moment: FlatMomentWanted,
    parse: (text: string) => T | undefined,
  ) => {
    const files = filesFor(parts, kind, moment);
    for (const { name, text } of files) {
      const value = parse(text);
      if (value !== undefined) return { name, value };
      // A tool that was not installed leaves its error message under the usual name.
      gaps.push({ path: name, reason: `holds no ${what}` });
    }
    if (files.length === 0) gaps.push({ path: what, reason: 'not in the bundle' });
    return undefined;
  };
  // What does not change in a run may come from either end.
  const lasting = { ...wanted, isAlone: false };
  const optional = (kind: FlatKind) => filesFor(parts, kind, lasting)[0]?.text.trim();
  const sample = seriesEnd(parts, wanted, 'interrupts', splitInterruptSeries);
  const table = first('interrupts', 'table of interrupts', wanted, tableText);
  return {
    hostname: optional('hostname') ?? hostnameOf(parts),
    kernelRelease: kernelRelease(optional('kernel')),
    timeMs: sample === undefined ? nameTimeMs(table?.name ?? '') : sample.timeMs,
    interrupts: sample?.text ?? table?.value,
    affinity: first('affinity', 'list of interrupt affinities', wanted, affinityMap)?.value,
    cpus: first('cpus', 'output of lscpu', lasting, cpuFacts)?.value,
    nics: nicsOf(parts, wanted, gaps),
    environment: environmentText(optional('environment')),
    nvidiaSmi: nvidiaSmi(optional('gpus')),
  };
}

/** Where a run was sampled and one end has no snapshot of its own, the series has. */
function seriesEnd(
  parts: readonly FlatPart[],
  { phase }: FlatMomentWanted,
  wanted: FlatKind,
  split: (text: string) => readonly Sample[],
): Sample | undefined {
  if (parts.some(({ kind, moment }) => kind === wanted && moment === phase)) return undefined;
  const samples = seriesFiles(parts, wanted).flatMap(({ text }) => split(text));
  // The one sample of a series that ended at once is neither the end nor the beginning.
  return samples.length > 1 ? samples.at(phase === 'before' ? 0 : -1) : undefined;
}

/** `…_20251007_120000.txt`, UTC. */
function nameTimeMs(name: string): number | undefined {
  const match = /(\d{4})(\d{2})(\d{2})[_-](\d{2})(\d{2})(\d{2})/.exec(name);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second] = match;
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(time) ? undefined : time;
}

function tableText(text: string): string | undefined {
  return /^\s+CPU\d+/.test(text) ? text : undefined;
}

function affinityMap(text: string): ReadonlyMap<number, readonly number[]> | undefined {
  const map = parseAffinityText(text);
  return map.size > 0 ? map : undefined;
}

function cpuFacts(text: string): LscpuFacts | undefined {
  const facts = parseLscpu(text);
  return facts.online === undefined ? undefined : facts;
}

/** Some collectors split info and statistics: what the first file lacks, the next adds. */
function nicsOf(
  parts: readonly FlatPart[],
  wanted: FlatMomentWanted,
  gaps: ReadGap[],
): readonly NicInfo[] {
  const sample = seriesEnd(parts, wanted, 'nics', splitNicSeries);
  const own = filesFor(parts, 'nics', wanted).flatMap(({ text }) => parseNicInfo(text));
  const moment = [...(sample === undefined ? [] : parseNicInfo(sample.text)), ...own];
  const rest = filesFor(parts, 'nics', { ...wanted, isAlone: false });
  const lasting = rest.flatMap(({ text }) => parseNicInfo(text)).map(withoutCounters);
  const merged = new Map<string, NicInfo>();
  for (const nic of [...moment, ...lasting]) {
    const known = merged.get(nic.name);
    merged.set(nic.name, known === undefined ? nic : mergeNic(known, nic));
  }
  if (merged.size === 0) gaps.push({ path: 'NIC information', reason: 'not in the bundle' });
  return [...merged.values()];
}

/** Address, node and driver of a NIC hold at both ends of a run, its counters do not. */
function withoutCounters(nic: NicInfo): NicInfo {
  return { ...nic, ethtool: { ...nic.ethtool, statistics: {} } };
}

function mergeNic(known: NicInfo, more: NicInfo): NicInfo {
  const pick = <T extends object>(a: T, b: T) => (Object.keys(a).length > 0 ? a : b);
  return {
    name: known.name,
    pciAddress: known.pciAddress ?? more.pciAddress,
    node: known.node ?? more.node,
    speedMbps: known.speedMbps ?? more.speedMbps,
    hasCarrier: known.hasCarrier ?? more.hasCarrier,
    mtu: known.mtu ?? more.mtu,
    ethtool: {
      ...known.ethtool,
      driver: known.ethtool.driver ?? more.ethtool.driver,
      channels: known.ethtool.channels ?? more.ethtool.channels,
      rings: known.ethtool.rings ?? more.ethtool.rings,
      features: pick(known.ethtool.features, more.ethtool.features),
      privateFlags: pick(known.ethtool.privateFlags, more.ethtool.privateFlags),
      // Never of two moments at once.
      statistics: pick(known.ethtool.statistics, more.ethtool.statistics),
    },
  };
}

/** Snapshots of `tcpx irq show --save` carry host and time in their names. */
function hostnameOf(parts: readonly FlatPart[]): string | undefined {
  for (const { file } of parts) {
    const match = /(?:^|\/)irq_(?:snapshot|affinity)_(.+)_\d{8}_\d{6}\.txt$/.exec(file.name);
    if (match?.[1] !== undefined) return match[1];
  }
  return undefined;
}

/** A file without a single variable is no environment: nothing may be concluded from it. */
function environmentText(text: string | undefined): string | undefined {
  return text !== undefined && /^\w+=/m.test(text) ? text : undefined;
}

function kernelRelease(text: string | undefined): string | undefined {
  return /\b\d+\.\d+\.\d+[\w.+-]*/.exec(text ?? '')?.[0];
}

function nvidiaSmi(text: string | undefined): string | undefined {
  const isQuery = text
    ?.split('\n')
    .some((line) => line.split(',').length === GPU_QUERY_FIELDS.length);
  return isQuery === true ? text : undefined;
}
