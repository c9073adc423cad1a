// The ratchet: faults that existed when a rule came. New ones are refused, old ones only shrink.

import type { Violation } from './violation.js';

export const RATCHET_PATH = 'scripts/ratchet.json';

export interface Ratchet {
  /** Path → lines that an overlong file may have at most. */
  readonly files: Readonly<Record<string, number>>;
  /** `path#name` → lines that an overlong function may have at most. */
  readonly functions: Readonly<Record<string, number>>;
  readonly unimported: readonly string[];
  readonly unusedSettings: readonly string[];
  readonly unusedErrorCodes: readonly string[];
}

const EMPTY: Ratchet = {
  files: {},
  functions: {},
  unimported: [],
  unusedSettings: [],
  unusedErrorCodes: [],
};

export function readRatchet(text: string | undefined): Ratchet {
  if (text === undefined) return EMPTY;
  return { ...EMPTY, ...(JSON.parse(text) as Partial<Ratchet>) };
}

/** What the tree holds today; the ratchet must equal it wherever it has an entry. */
export type Measured = Ratchet;

/** Faults beyond the ratchet are for each check to report; here: entries that have become loose. */
export function checkRatchetTight(ratchet: Ratchet, measured: Measured): Violation[] {
  const loose: string[] = [];
  for (const list of ['files', 'functions'] as const) {
    for (const [key, allowed] of Object.entries(ratchet[list])) {
      const lines = measured[list][key];
      if (lines === undefined) loose.push(`${list}: remove ${key}, it is within the limit now`);
      else if (lines < allowed) loose.push(`${list}: lower ${key} from ${allowed} to ${lines}`);
    }
  }
  for (const list of ['unimported', 'unusedSettings', 'unusedErrorCodes'] as const) {
    for (const key of ratchet[list]) {
      if (!measured[list].includes(key)) loose.push(`${list}: remove ${key}, it is in use or gone`);
    }
  }
  return loose.map((text) => looseness(`${text} (npm run tidy -- --shrink does it)`));
}

/** Compared with the last commit, no entry may appear or rise. */
export function checkRatchetShrinks(ratchet: Ratchet, previous: Ratchet): Violation[] {
  const grown: string[] = [];
  for (const list of ['files', 'functions'] as const) {
    for (const [key, allowed] of Object.entries(ratchet[list])) {
      if (allowed > (previous[list][key] ?? 0)) grown.push(`${list}: ${key}`);
    }
  }
  for (const list of ['unimported', 'unusedSettings', 'unusedErrorCodes'] as const) {
    grown.push(
      ...ratchet[list]
        .filter((key) => !previous[list].includes(key))
        .map((key) => `${list}: ${key}`),
    );
  }
  return grown.map((text) => looseness(`${text} was added or raised; repair the code instead`));
}

/** The ratchet with every loose entry tightened; never an entry more. */
export function shrinkRatchet(ratchet: Ratchet, measured: Measured): Ratchet {
  return {
    files: tighten(ratchet.files, measured.files),
    functions: tighten(ratchet.functions, measured.functions),
    unimported: keepMeasured(ratchet.unimported, measured.unimported),
    unusedSettings: keepMeasured(ratchet.unusedSettings, measured.unusedSettings),
    unusedErrorCodes: keepMeasured(ratchet.unusedErrorCodes, measured.unusedErrorCodes),
  };
}

type LineLimits = Readonly<Record<string, number>>;

function tighten(limits: LineLimits, measured: LineLimits): LineLimits {
  const tight: Record<string, number> = {};
  for (const [key, allowed] of Object.entries(limits)) {
    const lines = measured[key];
    if (lines !== undefined) tight[key] = Math.min(allowed, lines);
  }
  return tight;
}

function keepMeasured(list: readonly string[], measured: readonly string[]): string[] {
  return list.filter((key) => measured.includes(key));
}

function looseness(message: string): Violation {
  return { path: RATCHET_PATH, line: 1, rule: 'ratchet', message };
}
