// Everything a driver tells about one NIC, request by request; a refused request is a gap, and the
// rest is still read. Also the cheap repeated reading of statistics that `tcpx watch` needs.

import { getSystemErrorName } from 'node:util';
import type { EthtoolSocket } from '../../ffi/ethtool.js';
import type { EthtoolData } from './ethtool-data.js';
import * as requests from './ethtool-requests.js';
import type { ReadGap } from './read-gap.js';

const { EthtoolCommand, StringSet } = requests;

export function readEthtool(
  socket: EthtoolSocket,
  nic: string,
  tcpDataSplit: 'unknown' | 'off' | 'on' | undefined,
): EthtoolData {
  const gaps: ReadGap[] = [];
  const ask = askDriver(socket, nic, gaps);
  const fixed = <T>(
    name: string,
    command: requests.EthtoolCommand,
    bytes: number,
    decode: (memory: ArrayBuffer) => T,
  ): T | undefined => {
    const memory = ask(name, requests.fixedRequest(command, bytes));
    return memory === undefined ? undefined : decode(memory);
  };
  const channels = requests.CHANNELS_BYTES;
  const rings = fixed('rings', EthtoolCommand.Rings, requests.RINGS_BYTES, requests.decodeRings);
  const names = (set: requests.StringSet) => readNames(ask, set);
  return {
    source: 'ioctl',
    driver: fixed(
      'driver',
      EthtoolCommand.DriverInfo,
      requests.DRIVER_INFO_BYTES,
      requests.decodeDriverInfo,
    ),
    link: readLinkSettings(ask),
    channels: fixed('channels', EthtoolCommand.Channels, channels, requests.decodeChannels),
    rings: rings === undefined ? undefined : { ...rings, tcpDataSplit },
    coalesce: fixed(
      'coalesce',
      EthtoolCommand.Coalesce,
      requests.COALESCE_BYTES,
      requests.decodeCoalesce,
    ),
    features: readFeatures(ask, names(StringSet.Features)),
    privateFlags: readPrivateFlags(ask, names(StringSet.PrivateFlags)),
    rssTable: readRssTable(ask),
    statistics: readStatistics(ask, names(StringSet.Statistics)),
    gaps,
  };
}

type Ask = (name: string, memory: ArrayBuffer) => ArrayBuffer | undefined;

function askDriver(socket: EthtoolSocket, nic: string, gaps: ReadGap[]): Ask {
  return (name, memory) => {
    const errno = socket.call(nic, memory);
    if (errno === 0) return memory;
    gaps.push({ path: `ethtool ${nic} ${name}`, reason: getSystemErrorName(-errno) });
    return undefined;
  };
}

function readLinkSettings(ask: Ask): EthtoolData['link'] {
  const bytes = requests.LINK_SETTINGS_BYTES;
  const first = ask('link', requests.fixedRequest(EthtoolCommand.LinkSettings, bytes));
  if (first === undefined) return undefined;
  const again = requests.linkSettingsAgain(first);
  const memory = again === undefined ? first : ask('link', again);
  return memory === undefined ? undefined : requests.decodeLink(memory);
}

/** undefined where the driver does not spread flows by a table. */
function readRssTable(ask: Ask): readonly number[] | undefined {
  const info = ask('rss', requests.rssTableRequest(0));
  const count = info === undefined ? 0 : requests.decodeRssCount(info);
  if (count === 0) return undefined;
  const memory = ask('rss', requests.rssTableRequest(count));
  return memory === undefined ? undefined : requests.decodeRssTable(memory);
}

function readNames(ask: Ask, set: requests.StringSet): string[] {
  const info = ask('string sets', requests.stringSetInfoRequest(set));
  const count = info === undefined ? 0 : requests.decodeStringSetInfo(info);
  if (count === 0) return [];
  const memory = ask('names', requests.stringsRequest(set, count));
  return memory === undefined ? [] : requests.decodeStrings(memory);
}

function readFeatures(ask: Ask, names: readonly string[]): EthtoolData['features'] {
  if (names.length === 0) return {};
  const memory = ask('features', requests.featuresRequest(names.length));
  return memory === undefined ? {} : requests.decodeFeatures(memory, names);
}

function readPrivateFlags(ask: Ask, names: readonly string[]): EthtoolData['privateFlags'] {
  if (names.length === 0) return {};
  const memory = ask('private flags', requests.fixedRequest(EthtoolCommand.PrivateFlags, 8));
  return memory === undefined ? {} : requests.decodePrivateFlags(memory, names);
}

function readStatistics(ask: Ask, names: readonly string[]): EthtoolData['statistics'] {
  if (names.length === 0) return {};
  const memory = ask('statistics', requests.statisticsRequest(names.length));
  return memory === undefined ? {} : requests.decodeStatistics(memory, names);
}

/** Reads driver statistics again and again; names are fetched once and when their count changes. */
export function statisticsReader(
  socket: EthtoolSocket,
  nic: string,
): () => Readonly<Record<string, number>> {
  const ask = askDriver(socket, nic, []);
  let names = readNames(ask, StringSet.Statistics);
  return () => {
    const info = ask('string sets', requests.stringSetInfoRequest(StringSet.Statistics));
    const count = info === undefined ? 0 : requests.decodeStringSetInfo(info);
    if (count !== names.length) names = readNames(ask, StringSet.Statistics);
    return readStatistics(ask, names);
  };
}
