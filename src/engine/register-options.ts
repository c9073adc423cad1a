// How memory is registered: who may do what, under which name, for how long.

import { checkNames, checkRecord } from '../base/argument.js';
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
  if ('read' in given) return { rights: given };
  checkNames('register', given, KNOWN);
  return given;
}
