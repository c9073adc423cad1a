// What we know of a plugin, rule by rule: the contract that the emulator is held to, and that
// `tcpx plugin check` tries on any other. Pure.

export interface CheckRule {
  readonly title: string;
  /** The provider breaks without it; else a difference is worth knowing, no more. */
  readonly isRelied: boolean;
}

/** In the order in which they are tried. */
export const CHECK_RULES = {
  load: rule('the library has a function table that we speak', true),
  init: rule('init succeeds', true),
  devices: rule('every device has a name and takes host memory', true),
  unpack: rule('devices are of type unpack, version 7, one receive per call', true),
  pci: rule('every NIC has a PCI path', false),
  listen: rule('listen fills the handle', true),
  address: rule('the handle begins with the address of the data listener', false),
  setup: rule('connect and accept give a comm in the time of the set-up', true),
  device: rule('accept fills the device handle: type, version, size, address', true),
  register: rule('host memory can be registered with both comms', true),
  window: rule('16 receives can be posted', true),
  depth: rule('the 17th receive is refused (3)', false),
  group: rule('two receives in one call are refused (3)', false),
  unregistered: rule('a receive without a memory handle is refused (3)', false),
  idle: rule('testing while nothing moves is no error', true),
  'test-null': rule('testing nothing is refused (3)', false),
  'consume-null': rule('consuming nothing is refused (3)', false),
  'consume-early': rule('consuming before data came is refused (3)', false),
  younger: rule('testing a younger request than the oldest under way is refused (3)', false),
  payload: rule('messages arrive in order, byte by byte', true),
  sizes: rule('test does not write sizes', false),
  request: rule('a request has its operation at byte 16 and its length at byte 36', false),
  'consume-send': rule('consuming a send is left alone (0)', false),
  'consume-order': rule('consuming out of order is refused (3)', false),
  'consume-two': rule('consuming two at once is refused (3)', false),
  consume: rule('receives are consumed in order', true),
  'consume-twice': rule('consuming twice is refused (3)', false),
  bounds: rule('a receive takes the sender’s length, whatever was posted', false),
  ring: rule('addresses of requests come back after 16', false),
  empty: rule('an empty message arrives and is consumed as any other', true),
  scatter: rule('a receive into device memory leaves a list that adds up', true),
  'peer-close': rule('a receive whose peer closed gets an error (2)', true),
  unaligned: rule('device memory off a page border is refused (3)', false),
  close: rule('memory is given back and comms close', true),
  'init-twice': rule('a second init is refused (3)', false),
} as const satisfies Readonly<Record<string, CheckRule>>;

export type RuleId = keyof typeof CHECK_RULES;
export const RULE_IDS = Object.keys(CHECK_RULES) as readonly RuleId[];

/** `fail`: the provider relies on it; `differs`: it does not; `skip`: could not be tried. */
export type Verdict = 'pass' | 'fail' | 'differs' | 'skip';

export interface RuleResult {
  readonly id: RuleId;
  readonly verdict: Verdict;
  /** What was seen, where it is not what was expected. */
  readonly seen: string;
}

/** What the process that holds the plugin says, a line of JSON each. */
export type CheckLine =
  | { readonly trying: RuleId }
  | { readonly result: RuleResult }
  | { readonly plugin: CheckedPlugin };

export interface CheckedPlugin {
  readonly path: string;
  readonly name: string;
  readonly tableVersion: number;
  readonly isEmulated: boolean;
  readonly nic: string;
}

function rule(title: string, isRelied: boolean): CheckRule {
  return { title, isRelied };
}

/** Results of all rules from the lines of a process that may have ended in between. */
export function collectResults(lines: readonly CheckLine[], howItEnded: string): RuleResult[] {
  const results = new Map<RuleId, RuleResult>();
  let trying: RuleId | undefined;
  for (const line of lines) {
    if ('trying' in line) trying = line.trying;
    if (!('result' in line)) continue;
    results.set(line.result.id, line.result);
    if (trying === line.result.id) trying = undefined;
  }
  return RULE_IDS.map((id) => {
    const known = results.get(id);
    if (known !== undefined) return known;
    if (id === trying) return { id, verdict: badVerdict(id), seen: howItEnded };
    const seen = trying === undefined ? howItEnded : `the plugin's process had ended (${trying})`;
    return { id, verdict: 'skip', seen };
  });
}

export function badVerdict(id: RuleId): Verdict {
  return CHECK_RULES[id].isRelied ? 'fail' : 'differs';
}
