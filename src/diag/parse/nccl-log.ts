// What a log of NCCL and the TCPX plugin says of a run: versions, devices, which NIC each channel
// uses, rings, where threads run, and the lines that mean trouble. Pure; the log is foreign.

import { logLines, type Speaker, splitSpeaker } from './log-line.js';
import { type CatalogueEntry, catalogued } from './plugin-catalogue.js';

export interface ChannelLine {
  readonly channel: number;
  readonly from: number;
  readonly to: number;
  readonly direction: 'send' | 'receive' | undefined;
  readonly network: string;
  /** Index of the plugin's device. */
  readonly device: number;
  /** By the plugin's device list, where it was logged. */
  readonly nic: string | undefined;
  readonly isDirect: boolean;
  readonly host: string;
}

export interface Ring {
  readonly channel: number;
  readonly ranks: readonly number[];
}

export interface ThreadLine {
  readonly host: string;
  /** `Proxy Service`, `Proxy Progress`, `helper 0` of the plugin. */
  readonly thread: string;
  readonly device: number | undefined;
  readonly cpu: number;
}

export interface FlowLine {
  /** `10.0.0.1<40000><-10.0.0.2<50000> rx`. */
  readonly flow: string;
  readonly local: string;
  readonly remote: string;
  readonly cpu: number | undefined;
  readonly napiId: number | undefined;
}

export interface LogEvent extends Omit<CatalogueEntry, 'pattern'> {
  readonly count: number;
  /** The first such line, without its prefix. */
  readonly first: string;
  readonly lineNumber: number;
  /** Where it was said: host, GPU and NIC, as far as the lines tell. */
  readonly places: readonly EventPlace[];
}

export interface EventPlace {
  readonly host: string | undefined;
  readonly gpu: number | undefined;
  readonly nic: string | undefined;
  readonly peer: string | undefined;
  readonly count: number;
}

export interface NcclLog {
  readonly version: string | undefined;
  readonly pluginVersion: string | undefined;
  /** `Using network <name>`. */
  readonly network: string | undefined;
  readonly unpackVersion: string | undefined;
  /** NICs by the plugin's index. */
  readonly devices: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  readonly chunkBytes: number | undefined;
  readonly channels: readonly ChannelLine[];
  readonly rings: readonly Ring[];
  readonly threads: readonly ThreadLine[];
  readonly flows: readonly FlowLine[];
  readonly bindings: readonly { readonly nic: string; readonly cores: string }[];
  readonly events: readonly LogEvent[];
  /** Lines of a form that NCCL or the plugin writes; 0 means that this is another log. */
  readonly lineCount: number;
}

/** Of each list; a log with more tells nothing new. */
const ENTRIES_MAX = 20_000;

type Mutable<T> = {
  -readonly [K in keyof T]: T[K] extends readonly (infer U)[] ? U[] : T[K];
};

type Draft = Mutable<Omit<NcclLog, 'events' | 'variables'>> & {
  variables: Record<string, string>;
  events: Map<string, EventDraft>;
  addresses: Map<string, string>;
};

interface EventDraft {
  readonly entry: CatalogueEntry;
  count: number;
  readonly first: string;
  readonly lineNumber: number;
  readonly places: Map<string, EventPlace>;
}

export function parseNcclLog(text: string): NcclLog {
  const draft: Draft = {
    version: undefined,
    pluginVersion: undefined,
    network: undefined,
    unpackVersion: undefined,
    chunkBytes: undefined,
    devices: [],
    variables: {},
    channels: [],
    rings: [],
    threads: [],
    flows: [],
    bindings: [],
    lineCount: 0,
    events: new Map(),
    addresses: new Map(),
  };
  let number = 0;
  for (const line of logLines(text)) {
    number++;
    const { speaker, text: said } = splitSpeaker(line);
    if (takeEvent(draft, speaker, said, number) || takeLine(draft, speaker, said)) {
      draft.lineCount++;
    }
  }
  const { version, pluginVersion, network, unpackVersion, chunkBytes, devices, variables } = draft;
  const { channels, rings, threads, flows, bindings, lineCount } = draft;
  return {
    ...{ version, pluginVersion, network, unpackVersion, chunkBytes, devices, variables },
    ...{ channels, rings, threads, flows, bindings, lineCount },
    events: [...draft.events.values()].map(eventOf),
  };
}

function eventOf({ entry, count, first, lineNumber, places }: EventDraft): LogEvent {
  const { id, level, meaning, cause, remedy } = entry;
  return {
    id,
    level,
    meaning,
    cause,
    remedy,
    count,
    first,
    lineNumber,
    places: [...places.values()],
  };
}

/** The end of a flow that a line names, local first: `a<1>-> b<2> tx`, `a<1><-b<2> rx`. */
const FLOW = /([\d.]+|[\da-f:]+)<(\d+)>\s*(?:->|<-)\s*([\d.]+|[\da-f:]+)<(\d+)>(?: (?:tx|rx))?/i;

function takeEvent(draft: Draft, speaker: Speaker | undefined, text: string, line: number) {
  const entry = catalogued(text);
  if (entry === undefined) return false;
  const known = draft.events.get(entry.id);
  const event: EventDraft = known ?? {
    ...{ entry, count: 0, first: text, lineNumber: line, places: new Map<string, EventPlace>() },
  };
  event.count++;
  draft.events.set(entry.id, event);
  takePlace(draft, event, speaker, text);
  return true;
}

function takePlace(
  draft: Draft,
  event: EventDraft,
  speaker: Speaker | undefined,
  text: string,
): void {
  const flow = FLOW.exec(text);
  const nic = draft.addresses.get(flow?.[1] ?? '') ?? /\b((?:eth|ens|enp)\w+)\b/.exec(text)?.[1];
  const place = { host: speaker?.host, gpu: speaker?.device, nic, peer: flow?.[3] };
  const key = Object.values(place).join(' ');
  const known = event.places.get(key);
  if (known === undefined && event.places.size >= ENTRIES_MAX) return;
  event.places.set(key, { ...place, count: (known?.count ?? 0) + 1 });
}

type Take = (draft: Draft, match: RegExpExecArray, speaker: Speaker | undefined) => void;

const LINES: readonly (readonly [RegExp, Take])[] = [
  [/NCCL version (\d+\.\d+\.\d+[\w.+]*)/, (d, m) => (d.version ??= m[1])],
  [/NET\/GPUDirectTCPX ver\. (\d[\w.]*?)\.?$/, (d, m) => (d.pluginVersion ??= m[1])],
  [/\bUsing network (\S+)/, (d, m) => (d.network ??= m[1])],
  [/DEVICE_UNPACK net plugin version (\d+)/, (d, m) => (d.unpackVersion ??= m[1])],
  [/\b(N(?:CCL|ET)_\w+) set by environment to (.*?)\.?$/, takeVariable],
  [/\bdynamic chunk size: (\d+)/, (d, m) => (d.chunkBytes ??= Number(m[1]))],
  [/\bUsing ((?:\[\d+\]\S+ ?)+)/, takeDevices],
  [
    new RegExp(
      String.raw`\bChannel (\d+)/(\d+) : (\d+)\[\w+\] -> (\d+)\[\w+\](?: \[(send|receive)\])?` +
        String.raw` via NET/([^/\s]+)/(\d+)(\S*)`,
    ),
    takeChannel,
  ],
  [/\bChannel (\d+)\/\d+ :((?: +\d+)+)$/, takeRing],
  [/\[(Proxy \w+(?: UDS)?)\] Device (\d+) CPU core (\d+)/, takeProxy],
  [/\bComm \S+ thread (\d+) running on \(cpu\) \((\d+)\)/, takeHelper],
  [/\bdev (\S+), cores (\d+-\d+)/, takeBinding],
  [/\baccepted +\(\d+\) \[[^\]]*\].*/, takeFlow],
];

function takeLine(draft: Draft, speaker: Speaker | undefined, text: string): boolean {
  for (const [pattern, take] of LINES) {
    const match = pattern.exec(text);
    if (match === null) continue;
    take(draft, match, speaker);
    return true;
  }
  return / NCCL (?:INFO|WARN|TRACE) /.test(` ${text}`);
}

function push<T>(list: T[], value: T): void {
  if (list.length < ENTRIES_MAX) list.push(value);
}

function takeVariable(draft: Draft, match: RegExpExecArray): void {
  const [, name = '', value = ''] = match;
  if (Object.keys(draft.variables).length < ENTRIES_MAX) draft.variables[name] = value;
}

/** `[0]eth1:10.0.0.1<0> [1]eth2:10.0.1.1<0>`. */
function takeDevices(draft: Draft, match: RegExpExecArray): void {
  for (const [, index = '', nic = '', address = ''] of (match[1] ?? '').matchAll(
    /\[(\d{1,3})\]([\w.-]+)(?::([\da-f.:]+)<\d+>)?/gi,
  )) {
    draft.devices[Number(index)] ??= nic;
    if (address !== '') draft.addresses.set(address, nic);
  }
}

function takeChannel(draft: Draft, match: RegExpExecArray, speaker: Speaker | undefined): void {
  const [, channel, , from, to, direction, network = '', device, rest = ''] = match;
  push(draft.channels, {
    channel: Number(channel),
    from: Number(from),
    to: Number(to),
    direction: direction === 'send' || direction === 'receive' ? direction : undefined,
    network,
    device: Number(device),
    nic: draft.devices[Number(device)],
    isDirect: rest.includes('GDRDMA'),
    host: speaker?.host ?? '',
  });
}

function takeRing(draft: Draft, match: RegExpExecArray): void {
  const ranks = (match[2] ?? '').trim().split(/ +/).map(Number);
  push(draft.rings, { channel: Number(match[1]), ranks });
}

function takeProxy(draft: Draft, match: RegExpExecArray, speaker: Speaker | undefined): void {
  const [, thread = '', device, cpu] = match;
  const place = { thread, device: Number(device), cpu: Number(cpu) };
  push(draft.threads, { host: speaker?.host ?? '', ...place });
}

function takeHelper(draft: Draft, match: RegExpExecArray, speaker: Speaker | undefined): void {
  push(draft.threads, {
    host: speaker?.host ?? '',
    thread: `helper ${match[1] ?? ''}`,
    device: speaker?.device,
    cpu: Number(match[2]),
  });
}

function takeBinding(draft: Draft, match: RegExpExecArray): void {
  push(draft.bindings, { nic: match[1] ?? '', cores: match[2] ?? '' });
}

function takeFlow(draft: Draft, match: RegExpExecArray): void {
  const text = match[0];
  const flow = FLOW.exec(text);
  const number = (pattern: RegExp) => {
    const found = pattern.exec(text)?.[1];
    return found === undefined ? undefined : Number(found);
  };
  push(draft.flows, {
    flow: flow?.[0] ?? '',
    local: flow?.[1] ?? '',
    remote: flow?.[3] ?? '',
    cpu: number(/\bcpu (\d+)/),
    napiId: number(/\bnapi_id (\d+)/),
  });
}
