// What a session runs with, and who or what chose it: settings by hand, agreements with the peer,
// and what was chosen because nobody had set anything. Pure, but for its maker.

import type { Config } from '../base/config.js';
import type { SettingName } from '../base/settings.js';
import { CONGESTION_AUTO, type CongestionChoice } from '../os/congestion.js';
import type { Choice } from '../provider/receipt.js';
import type { Agreement } from '../wire/control-frame.js';
import { FAR_US, formatMs } from './peer-tuning.js';

/** What is known of a peer when its session is made. */
export interface PeerTerms {
  /** Why an agreed value differs from what this end would have by itself. */
  readonly reasons?: Partial<Readonly<Record<keyof Agreement, string>>>;
  readonly roundTripUs?: number | undefined;
  /** Channels that are there before the session is ready, where not all of them are. */
  readonly channelsFirst?: number;
}

/** The congestion control of a host: what near and far peers get. */
export interface HostCongestion extends Pick<CongestionChoice, 'reason'> {
  readonly near: string;
  readonly far: string;
}

const AGREED: readonly (readonly [keyof Agreement, SettingName])[] = [
  ['channels', 'flow.channels'],
  ['chunkBytes', 'flow.chunkBytes'],
  ['windowChunks', 'flow.windowChunks'],
];
const OWN: readonly SettingName[] = ['lane.count', 'lane.spinUs', 'lane.own'];

const LATE_REASON =
  'an end has many sessions, or is of a service: the others come with a transfer worth them';

export function choicesOf(
  config: Config,
  agreement: Agreement,
  terms: PeerTerms,
  congestion: HostCongestion,
): readonly Choice[] {
  const agreed = AGREED.map(([key, name]) =>
    agreedChoice(config, name, agreement[key], terms, key),
  );
  const isWayOpen = config.values['socket.sendBy'] === 'auto';
  // Where it is open, each transfer says its own.
  const names: readonly SettingName[] = isWayOpen ? OWN : [...OWN, 'socket.sendBy'];
  const own = names.map((name) => ({
    name,
    value: String(config.values[name]),
    reason: originOf(config, name),
  }));
  return [...agreed, ...own, congestionChoice(config, terms, congestion)];
}

function agreedChoice(
  config: Config,
  name: SettingName,
  value: number,
  { reasons, channelsFirst = value }: PeerTerms,
  key: keyof Agreement,
): Choice {
  const isOwn = value === config.values[name];
  const why = reasons?.[key] ?? (isOwn ? originOf(config, name) : 'agreed with the peer');
  const isLate = key === 'channels' && channelsFirst < value;
  const reason = isLate ? `${why}; ${channelsFirst} to begin with, as ${LATE_REASON}` : why;
  return { name, value: String(value), reason };
}

function congestionChoice(
  config: Config,
  { roundTripUs }: PeerTerms,
  { near, far, reason }: HostCongestion,
): Choice {
  const name = 'socket.congestion';
  if (config.values[name] !== CONGESTION_AUTO) {
    return { name, value: config.values[name], reason: originOf(config, name) };
  }
  const isFar = roundTripUs !== undefined && roundTripUs >= FAR_US;
  const where = roundTripUs === undefined ? 'distance unknown' : `${formatMs(roundTripUs)} away`;
  return { name, value: isFar ? far : near, reason: `auto: ${where}: ${reason}` };
}

function originOf({ effective }: Config, name: SettingName): string {
  return effective.find((setting) => setting.name === name)?.origin ?? 'default';
}
