// The function pointers of a table as callable functions. Every argument is a Number; where a
// version orders or names arguments otherwise, an adapter puts them in place.

import koffi from 'koffi';
import { TcpxError } from '../../base/errors.js';
import type { PluginLibrary } from './plugin-library.js';
import {
  type ArgumentKind,
  argumentSources,
  CALL_ROLES,
  type CallName,
  memberOffset,
  type TableLayout,
  tableSymbol,
} from './table-layout.js';

/** Takes the values of CALL_ROLES in that order, returns a result code. */
export type BoundCall = (...values: readonly number[]) => number;
export type BoundCalls = Readonly<Record<CallName, BoundCall>>;

const C_TYPES: Readonly<Record<ArgumentKind, string>> = {
  pointer: 'uintptr_t',
  int: 'int',
  size: 'size_t',
  u64: 'uint64_t',
};

/** Not in every version: finalize came with v11. */
const OPTIONAL: readonly CallName[] = ['finalize'];

export function bindCalls(library: PluginLibrary): BoundCalls {
  const calls: Partial<Record<CallName, BoundCall>> = {};
  for (const name of Object.keys(CALL_ROLES) as CallName[]) {
    calls[name] = bindCall(library, name);
  }
  return calls as BoundCalls;
}

function bindCall(library: PluginLibrary, name: CallName): BoundCall {
  const { table, tableView } = library;
  if (table.calls[name] === undefined) return () => 0;
  const addr = tableView.getBigUint64(memberOffset(table, name), true);
  if (addr === 0n) {
    if (OPTIONAL.includes(name)) return () => 0;
    throw new TcpxError(
      'ERR_CAP_NET_PLUGIN_TABLE',
      `${library.path}: ${tableSymbol(table.version)} has no ${name}`,
    );
  }
  const raw = koffi.decode(addr, prototypeOf(table, name)) as BoundCall;
  return adapt(raw, argumentSources(table, name), CALL_ROLES[name].length);
}

const prototypes = new Map<string, ReturnType<typeof koffi.proto>>();

// koffi knows prototypes by name, for the whole process.
function prototypeOf(table: TableLayout, name: CallName) {
  const key = `ncclNet_v${table.version}_${name}`;
  let prototype = prototypes.get(key);
  if (prototype === undefined) {
    const types = (table.calls[name] ?? []).map(([, kind]) => C_TYPES[kind]);
    prototype = koffi.proto(key, 'int', types);
    prototypes.set(key, prototype);
  }
  return prototype;
}

function adapt(raw: BoundCall, sources: readonly number[], roleCount: number): BoundCall {
  const isSame = sources.length === roleCount && sources.every((source, i) => source === i);
  if (isSame) return raw;
  return (...values) => raw(...sources.map((source) => (source < 0 ? 0 : (values[source] ?? 0))));
}
