// Finding and loading a plugin: by path, or the default place and then the names NCCL looks for.
// Says which function table it has; a table that we do not speak is refused by name.

import { existsSync } from 'node:fs';
import koffi from 'koffi';
import { TcpxError } from '../../base/errors.js';
import { DEFAULT_PLUGIN_PATH, EMULATOR_WORD } from '../../base/plugin-settings.js';
import { viewMemory } from '../libc/library.js';
import { emulatorLibrary } from './emulator-library.js';
import {
  FOREIGN_VERSIONS,
  TABLE_LAYOUTS,
  type TableLayout,
  tableBytes,
  tableSymbol,
} from './table-layout.js';

/** Exported by our emulator alone; what is obtained with it is `emulated`. */
const EMULATOR_SYMBOL = 'tcpx_emu_version';
// The plugin takes these from the global namespace; which of them it needs depends on its build.
const PRELOADED = ['libcuda.so.1', 'libcudart.so.13', 'libcudart.so.12', 'libcudart.so.11.0'];

export interface PluginChoice {
  /** Path, library name or `emulator`; empty searches. */
  readonly path: string;
  /** As NCCL_NET_PLUGIN gives it, for example `tcpx`; empty for none. */
  readonly name: string;
}

export interface PluginLibrary {
  readonly path: string;
  readonly table: TableLayout;
  /** A view of the function table. */
  readonly tableView: DataView;
  readonly isEmulated: boolean;
  /** Address of another exported symbol; 0 when the library has none of that name. */
  symbolAddress(name: string): number;
}

/** Names to try, in order. Pure, but for the question whether the default exists. */
export function pluginCandidates(choice: PluginChoice, exists = existsSync): string[] {
  if (choice.path === EMULATOR_WORD) return [emulatorLibrary()];
  if (choice.path !== '') return [choice.path];
  const candidates = exists(DEFAULT_PLUGIN_PATH) ? [DEFAULT_PLUGIN_PATH] : [];
  if (choice.name !== '') candidates.push(choice.name, `libnccl-net-${choice.name}.so`);
  return [...candidates, 'libnccl-net.so'];
}

export function loadPluginLibrary(choice: PluginChoice): PluginLibrary {
  for (const name of PRELOADED) tryLoad(name);
  const candidates = pluginCandidates(choice);
  const reasons: string[] = [];
  for (const path of candidates) {
    const loaded = tryLoad(path);
    if (typeof loaded !== 'string') return describeLibrary(path, loaded);
    reasons.push(`${path} (${loaded})`);
  }
  const missing = choice.path === '' ? [`${DEFAULT_PLUGIN_PATH} (does not exist)`] : [];
  const isListed = candidates.includes(DEFAULT_PLUGIN_PATH);
  const tried = [...(isListed ? [] : missing), ...reasons];
  const way = `--plugin ${EMULATOR_WORD} takes this package’s emulator, to try the path`;
  throw new TcpxError(
    'ERR_CAP_NET_PLUGIN',
    `no NCCL net plugin; tried ${tried.join(', ')}; ${way}`,
    { facts: { tried: candidates.join(' ') } },
  );
}

type Handle = ReturnType<typeof koffi.load>;

function tryLoad(path: string): Handle | string {
  try {
    return koffi.load(path, { lazy: true, global: true });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return reason.replace(/^Failed to load shared library: /, '');
  }
}

function describeLibrary(path: string, handle: Handle): PluginLibrary {
  const table = TABLE_LAYOUTS.find(({ version }) => hasSymbol(handle, tableSymbol(version)));
  if (table === undefined) throw tableError(path, handle);
  const tableAddr = symbolAddress(handle, tableSymbol(table.version));
  return {
    path,
    table,
    tableView: new DataView(viewMemory(tableAddr, tableBytes(table))),
    isEmulated: hasSymbol(handle, EMULATOR_SYMBOL),
    symbolAddress: (name) => symbolAddress(handle, name),
  };
}

function tableError(path: string, handle: Handle): TcpxError {
  const foreign = FOREIGN_VERSIONS.map(tableSymbol).filter((name) => hasSymbol(handle, name));
  const known = TABLE_LAYOUTS.map(({ version }) => `v${version}`).reverse();
  const seen =
    foreign.length === 0
      ? 'it exports no ncclNetPlugin table: not a net plugin'
      : `it exports ${foreign.join(', ')}`;
  return new TcpxError(
    'ERR_CAP_NET_PLUGIN_TABLE',
    `${path}: ${seen}; known are ${known[0] ?? ''} to ${known.at(-1) ?? ''}`,
    { facts: { path, exported: foreign.join(' ') } },
  );
}

function hasSymbol(handle: Handle, name: string): boolean {
  return symbolAddress(handle, name) !== 0;
}

function symbolAddress(handle: Handle, name: string): number {
  try {
    return Number(handle.symbol(name));
  } catch {
    return 0;
  }
}
