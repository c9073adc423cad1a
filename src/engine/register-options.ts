// How memory is registered: who may do what, under which name, for how long.

import { checkNames, checkRecord } from '../base/argument.js';
import { TcpxError } from '../base/errors.js';
import type { RegionRights } from '../memory/region.js';

/** What `Engine.register` takes beside the memory. */
export interface RegisterOptions {
  /** By which peers find it with `session.lookup(name)`. */
  readonly name?: string;
  /** What peers may do; both by default. */
  readonly rights?: RegionRights;
  /** After this time peers are refused (`ERR_PEER_EXPIRED`), in ms; the region stays registered. */
  readonly expiresMs?: number;
}

const KNOWN = ['name', 'rights', 'expiresMs'];

export function registerOptionsOf(given: RegisterOptions | RegionRights): RegisterOptions {
  checkRecord('register: what comes after the memory', given);
  if ('read' in given) return { rights: checkRights(given) };
  checkNames('register', given, KNOWN);
  if (given.rights !== undefined) checkRights(given.rights);
  return given;
}

function checkRights(rights: RegionRights): RegionRights {
  checkRecord('register: rights', rights);
  checkNames('register: rights', rights, ['read', 'write']);
  const { read, write }: { read: unknown; write: unknown } = rights;
  if (typeof read === 'boolean' && typeof write === 'boolean') return rights;
  const text = 'register: rights say for read and for write whether peers may: true or false';
  throw new TcpxError('ERR_USAGE_ARGUMENT', text);
}
