// Compares what a command says of a whole host with what it says when something is missing: a
// value may be absent or said to be unknown, but none may differ.

export interface WrongClaim {
  readonly path: string;
  readonly whole: unknown;
  readonly holed: unknown;
}

/** Words with which an output says that it does not know. */
const UNKNOWN_WORDS = /\?|unknown|unreadable|N\/A|^requested$|^pci order$/;

/** Fields whose text explains, or whose value is a choice, and may change with what is known. */
const EXPLAINING = new Set([
  'gaps',
  'reason',
  'evidence',
  'notes',
  'warnings',
  'missing',
  'others',
]);

/** Members of a list are the same thing when they agree in one of these. */
const KEYS = ['id', 'irq', 'nic', 'gpu', 'index', 'cpu', 'name', 'kind'] as const;

export function wrongClaims(whole: unknown, holed: unknown, path = ''): WrongClaim[] {
  if (holed === undefined || holed === null || Object.is(whole, holed)) return [];
  if (Array.isArray(whole) && Array.isArray(holed)) return wrongMembers(whole, holed, path);
  if (isRecord(whole) && isRecord(holed)) {
    return Object.keys(holed)
      .filter((name) => !EXPLAINING.has(name))
      .flatMap((name) => wrongClaims(whole[name], holed[name], `${path}/${name}`));
  }
  if (typeof holed === 'string' && (holed === '' || UNKNOWN_WORDS.test(holed))) return [];
  return [{ path, whole, holed }];
}

function wrongMembers(whole: readonly unknown[], holed: readonly unknown[], path: string) {
  if (whole.every(isRecord) && holed.every(isRecord)) {
    return holed.flatMap((member) => {
      const key = KEYS.find((name) => name in member);
      const same = whole.find((other) => key !== undefined && other[key] === member[key]);
      const place = `${path}/${key ?? ''}=${String(key === undefined ? '' : member[key])}`;
      return wrongClaims(same, member, place);
    });
  }
  // An empty list says "none": it must be so in the whole as well.
  if (whole.length === holed.length) {
    return holed.flatMap((member, index) => wrongClaims(whole[index], member, `${path}/${index}`));
  }
  return [{ path, whole, holed }];
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
