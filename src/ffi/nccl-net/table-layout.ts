// The NCCL net function table and property struct, versions 7 to 11, as data. A member's position
// is its index × 8; arguments carry a role, so that callers name values and not positions. Pure.

export type ArgumentKind = 'pointer' | 'int' | 'size' | 'u64';
export type Argument = readonly [role: string, kind: ArgumentKind];

/** Roles in the order in which callers give them; others (profiler handles) are passed as 0. */
export const CALL_ROLES = {
  init: ['logger', 'context', 'config'],
  devices: ['out'],
  getProperties: ['dev', 'out'],
  listen: ['context', 'dev', 'handle', 'out'],
  connect: ['context', 'dev', 'handle', 'out', 'device', 'config'],
  accept: ['comm', 'out', 'device'],
  regMr: ['comm', 'data', 'bytes', 'type', 'out'],
  deregMr: ['comm', 'mhandle'],
  isend: ['comm', 'data', 'bytes', 'tag', 'mhandle', 'out'],
  irecv: ['comm', 'count', 'data', 'sizes', 'tags', 'mhandles', 'out'],
  test: ['request', 'done', 'sizes'],
  closeSend: ['comm'],
  closeRecv: ['comm'],
  closeListen: ['comm'],
  irecvConsumed: ['comm', 'count', 'request'],
  finalize: ['context'],
} as const satisfies Readonly<Record<string, readonly string[]>>;
export type CallName = keyof typeof CALL_ROLES;

export type TableVersion = 7 | 8 | 9 | 10 | 11;

export interface TableLayout {
  readonly version: TableVersion;
  readonly members: readonly string[];
  readonly calls: Readonly<Partial<Record<CallName, readonly Argument[]>>>;
  /** Bytes of one element of the sizes that irecv takes. */
  readonly receiveSizeBytes: 4 | 8;
  readonly properties: PropertyLayout;
}

export type PropertyKind = 'text' | 'u64' | 'int' | 'float' | 'size';
export interface PropertyLayout {
  readonly bytes: number;
  readonly fields: readonly (readonly [name: string, offset: number, kind: PropertyKind])[];
}

const MEMBERS_V7: readonly string[] = [
  ...['name', 'init', 'devices', 'getProperties', 'listen', 'connect', 'accept', 'regMr'],
  ...['regMrDmaBuf', 'deregMr', 'isend', 'irecv', 'iflush', 'test', 'closeSend', 'closeRecv'],
  ...['closeListen', 'getDeviceMr', 'irecvConsumed'],
];
const MEMBERS_V9 = [...MEMBERS_V7, 'makeVDevice'];
const MEMBERS_V11 = [...MEMBERS_V9, 'finalize', 'setNetAttr'];

type Calls = TableLayout['calls'];

const pointers = (...roles: readonly string[]): Argument[] =>
  roles.map((role) => [role, 'pointer']);
const int = (role: string): Argument => [role, 'int'];
const size = (role: string): Argument => [role, 'size'];

const CALLS_V7: Calls = {
  init: pointers('logger'),
  devices: pointers('out'),
  getProperties: [int('dev'), ...pointers('out')],
  listen: [int('dev'), ...pointers('handle', 'out')],
  connect: [int('dev'), ...pointers('handle', 'out', 'device')],
  accept: pointers('comm', 'out', 'device'),
  regMr: [...pointers('comm', 'data'), int('bytes'), int('type'), ...pointers('out')],
  deregMr: pointers('comm', 'mhandle'),
  isend: [...pointers('comm', 'data'), int('bytes'), int('tag'), ...pointers('mhandle', 'out')],
  irecv: [
    ...pointers('comm'),
    int('count'),
    ...pointers('data', 'sizes', 'tags', 'mhandles', 'out'),
  ],
  test: pointers('request', 'done', 'sizes'),
  closeSend: pointers('comm'),
  closeRecv: pointers('comm'),
  closeListen: pointers('comm'),
  irecvConsumed: [...pointers('comm'), int('count'), ...pointers('request')],
};

const CALLS_V8: Calls = {
  ...CALLS_V7,
  regMr: [...pointers('comm', 'data'), size('bytes'), int('type'), ...pointers('out')],
};

const CALLS_V9: Calls = {
  ...CALLS_V8,
  isend: [...pointers('comm', 'data'), size('bytes'), int('tag'), ...pointers('mhandle', 'out')],
};

const CALLS_V10: Calls = {
  ...CALLS_V9,
  init: pointers('logger', 'profiler'),
  connect: [int('dev'), ...pointers('config', 'handle', 'out', 'device')],
  isend: [
    ...pointers('comm', 'data'),
    size('bytes'),
    int('tag'),
    ...pointers('mhandle', 'profile', 'out'),
  ],
  irecv: [
    ...pointers('comm'),
    int('count'),
    ...pointers('data', 'sizes', 'tags', 'mhandles', 'profiles', 'out'),
  ],
};

const CALLS_V11: Calls = {
  ...CALLS_V10,
  init: [...pointers('context'), ['commId', 'u64'], ...pointers('config', 'logger', 'profiler')],
  listen: [...pointers('context'), int('dev'), ...pointers('handle', 'out')],
  connect: [...pointers('context'), int('dev'), ...pointers('handle', 'out', 'device')],
  finalize: pointers('context'),
};

type Fields = PropertyLayout['fields'];

const HEAD: Fields = [
  ['name', 0, 'text'],
  ['pciPath', 8, 'text'],
  ['guid', 16, 'u64'],
  ['ptrSupport', 24, 'int'],
];

/** The run of fields that every version has, at another place in each. */
function common(offset: number): Fields {
  return [
    ['speedMbps', offset, 'int'],
    ['port', offset + 4, 'int'],
    ['latencyUs', offset + 8, 'float'],
    ['maxComms', offset + 12, 'int'],
    ['maxRecvs', offset + 16, 'int'],
    ['netDeviceType', offset + 20, 'int'],
    ['netDeviceVersion', offset + 24, 'int'],
  ];
}

const PROPERTIES_V7: PropertyLayout = { bytes: 56, fields: [...HEAD, ...common(28)] };
const PROPERTIES_V8: PropertyLayout = {
  bytes: 64,
  fields: [...HEAD, ['regIsGlobal', 28, 'int'], ...common(32)],
};
const FIELDS_V9: Fields = [
  ...HEAD,
  ['regIsGlobal', 28, 'int'],
  ['forceFlush', 32, 'int'],
  ...common(36),
  ['maxP2pBytes', 88, 'size'],
  ['maxCollBytes', 96, 'size'],
];
const PROPERTIES_V9: PropertyLayout = { bytes: 104, fields: FIELDS_V9 };
const PROPERTIES_V11: PropertyLayout = {
  bytes: 112,
  fields: [...FIELDS_V9, ['maxMultiRequestSize', 104, 'int']],
};

function layout(
  version: TableVersion,
  members: readonly string[],
  calls: Calls,
  receiveSizeBytes: 4 | 8,
  properties: PropertyLayout,
): TableLayout {
  return { version, members, calls, receiveSizeBytes, properties };
}

/** Newest first: the order in which a library is searched. */
export const TABLE_LAYOUTS: readonly TableLayout[] = [
  layout(11, MEMBERS_V11, CALLS_V11, 8, PROPERTIES_V11),
  layout(10, MEMBERS_V9, CALLS_V10, 8, PROPERTIES_V9),
  layout(9, MEMBERS_V9, CALLS_V9, 8, PROPERTIES_V9),
  layout(8, MEMBERS_V7, CALLS_V8, 4, PROPERTIES_V8),
  layout(7, MEMBERS_V7, CALLS_V7, 4, PROPERTIES_V7),
];

/** Versions that exist or may come, which we do not speak; only for saying so. */
export const FOREIGN_VERSIONS: readonly number[] = [12, 13, 14, 15, 16, 6, 5, 4, 3, 2];

export const POINTER_BYTES = 8;

export function tableBytes(table: TableLayout): number {
  return table.members.length * POINTER_BYTES;
}

export function memberOffset(table: TableLayout, member: string): number {
  return table.members.indexOf(member) * POINTER_BYTES;
}

export function tableSymbol(version: number): string {
  return `ncclNetPlugin_v${version}`;
}

/**
 * For each argument of the call the index of the caller's value, −1 for what is passed as 0.
 * A role that the caller gives and this version does not take (the context before v11) is dropped.
 */
export function argumentSources(table: TableLayout, call: CallName): number[] {
  const roles: readonly string[] = CALL_ROLES[call];
  return (table.calls[call] ?? []).map(([role]) => roles.indexOf(role));
}
