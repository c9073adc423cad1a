// Settings that both ends of a session must agree on. Pure.
// A value set by hand on one end is taken by the other; set by hand on both, it must be the same.

import type { Config } from '../base/config.js';
import { TcpxError } from '../base/errors.js';
import { SETTINGS, type SettingName } from '../base/settings.js';
import type { Agreement } from '../wire/control-frame.js';

const AGREED = [
  ['channels', 'flow.channels'],
  ['windowChunks', 'flow.windowChunks'],
  ['chunkBytes', 'flow.chunkBytes'],
] as const satisfies readonly (readonly [keyof Agreement, SettingName])[];

export interface Wish extends Agreement {
  /** Bit i: the i-th agreed setting was set by hand. */
  readonly explicit: number;
}

export function wishOf(config: Config): Wish {
  let explicit = 0;
  for (const [index, [, name]] of AGREED.entries()) {
    const setting = config.effective.find((candidate) => candidate.name === name);
    if (setting !== undefined && setting.origin !== 'default') explicit |= 1 << index;
  }
  return {
    channels: config.values['flow.channels'],
    windowChunks: config.values['flow.windowChunks'],
    chunkBytes: config.values['flow.chunkBytes'],
    explicit,
  };
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
    agreed[key] = checkRange(name, isServerFirm ? server[key] : client[key]);
  }
  return agreed;
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
