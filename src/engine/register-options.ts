// How memory is registered: who may do what, under which name, for how long.

import { checkFlag, checkOptions, checkRecord, checkText, checkTime } from '../base/argument.js';
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

const KINDS = { name: checkText, rights: checkRights, expiresMs: checkTime };

export function registerOptionsOf(given: RegisterOptions | RegionRights): RegisterOptions {
  checkRecord('register: what comes after the memory', given);
  if ('read' in given) {
    checkRights('register: rights', given);
    return { rights: given };
  }
  checkOptions('register', given, KINDS);
  return given;
}

// Both are said: who leaves one out may have meant either.
function checkRights(what: string, rights: unknown): void {
  checkOptions(what, rights, { read: checkFlag, write: checkFlag });
  const { read, write } = rights as Partial<RegionRights>;
  checkFlag(`${what}: read`, read);
  checkFlag(`${what}: write`, write);
}
