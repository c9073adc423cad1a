// Settings that both ends of a session must agree on. Pure.
// A value set by hand on one end is taken by the other; set by hand on both, it must be the same.
// Channels that neither end has set are as many as the end with fewer lanes can serve, but no NIC
// that an end has named goes without one.

import { type Config, isByHand } from '../base/config.js';
import { TcpxError } from '../base/errors.js';
import { splitNics } from '../base/interface-list.js';
import { SETTINGS, type SettingName } from '../base/settings.js';
import type { Agreement } from '../wire/control-frame.js';
import { channelsOfNics } from './tuning.js';

const AGREED = [
  ['channels', 'flow.channels'],
  ['windowChunks', 'flow.windowChunks'],
  ['chunkBytes', 'flow.chunkBytes'],
] as const satisfies readonly (readonly [keyof Agreement, SettingName])[];

export interface Wish extends Agreement {
  /** Bit i: the i-th agreed setting was set by hand; WISH_NO_FEWER besides. */
  readonly explicit: number;
}

/** In `explicit`: fewer channels would leave a named NIC out, or a far path half empty. */
export const WISH_NO_FEWER = 8;
/** In `explicit`: the session begins with its first channel, the others come when needed. */
export const WISH_LATE = 16;
const MANY_SESSIONS = 4;

export function wishOf(config: Config): Wish {
  const channels = config.values['flow.channels'];
  const nics = splitNics(config.values['session.nics']).length;
  let explicit = nics > 0 && channels === channelsOfNics(nics) ? WISH_NO_FEWER : 0;
  for (const [index, [, name]] of AGREED.entries()) {
    if (isByHand(config, name)) explicit |= 1 << index;
  }
  return {
    channels,
    windowChunks: config.values['flow.windowChunks'],
    chunkBytes: config.values['flow.chunkBytes'],
    explicit,
  };
}

/** Whether somebody has set it by hand at the end whose wish it is. */
export function isWishFirm({ explicit }: Wish, key: keyof Agreement): boolean {
  return (explicit & (1 << AGREED.findIndex(([agreed]) => agreed === key))) !== 0;
}

/**
 * An engine of many sessions opens them with one channel each, unless somebody asked for channels:
 * they cost a peer that sends little. One of few has them all at once: its program may post and
 * poll without ever letting the event loop dial more.
 */
export function wishAmid(wish: Wish, sessions: number): Wish {
  const isAsked = isWishFirm(wish, 'channels') || (wish.explicit & WISH_NO_FEWER) !== 0;
  const isLate = !isAsked && (isLateWished(wish) || sessions >= MANY_SESSIONS);
  return { ...wish, explicit: isLate ? wish.explicit | WISH_LATE : wish.explicit & ~WISH_LATE };
}

export function isLateWished({ explicit }: Pick<Wish, 'explicit'>): boolean {
  return (explicit & WISH_LATE) !== 0;
}

export function agree(server: Wish, client: Wish): Agreement {
  const agreed: Record<keyof Agreement, number> = { channels: 0, windowChunks: 0, chunkBytes: 0 };
  for (const [index, [key, name]] of AGREED.entries()) {
    const isServerFirm = (server.explicit & (1 << index)) !== 0;
    const isClientFirm = (client.explicit & (1 << index)) !== 0;
    if (isServerFirm && isClientFirm && server[key] !== client[key]) {
      throw new TcpxError(
        'ERR_CONFIG_MISMATCH',
        `${name}: ${client[key]} at the client, ${server[key]} at the server`,
        { facts: { name, client: client[key], server: server[key] } },
      );
    }
    const isOpen = key === 'channels' && !isServerFirm && !isClientFirm;
    const chosen = checkRange(name, isServerFirm ? server[key] : client[key]);
    agreed[key] = isOpen ? openChannels(server, client) : chosen;
  }
  return agreed;
}

function openChannels(server: Wish, client: Wish): number {
  const firm = [server, client].filter((wish) => (wish.explicit & WISH_NO_FEWER) !== 0);
  const needed = firm.map((wish) => wish.channels);
  return Math.max(Math.min(server.channels, client.channels), ...needed);
}

/** The peer's word is checked against the same range as our own settings. */
function checkRange(name: (typeof AGREED)[number][1], value: number): number {
  const { minimum, maximum } = SETTINGS[name];
  if (value >= minimum && value <= maximum) return value;
  throw new TcpxError(
    'ERR_WIRE_LIMIT',
    `${name}: the peer wants ${value}, allowed ${minimum} … ${maximum}`,
  );
}

/** The client's: what the server calls agreed is within range, and firm settings are kept. */
export function checkAgreement(agreement: Agreement, own: Wish, where: string): void {
  for (const [index, [key, name]] of AGREED.entries()) {
    const value = checkRange(name, agreement[key]);
    const isFirm = (own.explicit & (1 << index)) !== 0;
    if (!isFirm || value === own[key]) continue;
    throw new TcpxError(
      'ERR_CONFIG_MISMATCH',
      `${where}: ${name}: set by hand to ${own[key]} at the client, the server says ${value}`,
      { facts: { name, client: own[key], server: value } },
    );
  }
}
