// What is built from native/: outputs, their sources and flags. Pure.

import { isEmulatorSource } from '../../src/ffi/nccl-net/emulator-library.js';
import { P2P_LINK, P2P_SONAME, p2pDefines } from '../../src/ffi/p2p-library.js';

export const NATIVE_FOLDER = 'build/native';

export interface NativeTarget {
  readonly name: string;
  readonly sources: readonly string[];
  readonly headers: readonly string[];
  readonly flags: readonly string[];
  readonly libraries: readonly string[];
  /** A library to be linked into programs: made of one object file that holds all sources. */
  readonly isArchive?: boolean;
  /** Another name for it: what programs that were linked with it look for. */
  readonly alias?: string;
  /** C++: left out, with a word about it, where there is no such compiler. */
  readonly isCxx?: boolean;
}

const COMMON_FLAGS = ['-std=c11', '-D_GNU_SOURCE', '-O2', '-g', '-Wall', '-Wextra', '-Werror'];
const THREADS = ['-pthread'];
const SHARED = ['-fPIC', '-shared'];
// Only what is marked for export leaves the library.
const HIDDEN = ['-fvisibility=hidden'];

const CXX_FLAGS = ['-std=c++20', '-O2', '-g', '-Wall', '-Wextra', '-Werror', ...THREADS];
/** The C++ run time and the C library go into the file, and nothing of them out of it. */
const PLUGIN_LINK = [
  ...['-shared', '-static-libstdc++', '-static-libgcc'],
  '-Wl,--version-script=native/nixl/symbols.version',
  '-Wl,-z,nodelete,-z,defs,-z,text',
];
export const P2P_ARCHIVE = `${NATIVE_FOLDER}/libtcpx_p2p.a`;
/** What stands in for NIXL's headers where there are none. */
const NIXL_INTERFACE = 'native/nixl/interface';

/** The adapter to NIXL; `includes` are the flags that name the headers to compile it with. */
export function pluginTarget(
  paths: readonly string[],
  name: string,
  includes: readonly string[],
): NativeTarget {
  return {
    name,
    sources: paths.filter((path) => /^native\/nixl\/[^/]+\.cpp$/.test(path)).sort(),
    headers: paths.filter((path) => path.endsWith('.h')).sort(),
    flags: [
      ...[...CXX_FLAGS, '-fPIC', ...HIDDEN, '-fno-gnu-unique', ...PLUGIN_LINK],
      ...[...includes, '-Iinclude'],
    ],
    libraries: [P2P_ARCHIVE, '-ldl'],
    isCxx: true,
  };
}

/** `paths` are all files below native/ and include/; `version` is the package's. */
export function nativeTargets(paths: readonly string[], version: string): NativeTarget[] {
  const headers = paths.filter((path) => path.endsWith('.h')).sort();
  const cHeaders = headers.filter((path) => !path.startsWith('native/nixl'));
  const emulatorFolder = 'native/emulator/';
  const inEmulator = paths.filter((path) => path.startsWith(emulatorFolder)).sort();
  const inFake = paths.filter((path) => /^native\/fake-cuda\/[^/]+\.c$/.test(path)).sort();
  const inP2p = paths.filter((path) => /^native\/p2p\/[^/]+\.c$/.test(path)).sort();
  const inP2pCheck = paths.filter((path) => /^native\/p2p-check\/[^/]+\.c$/.test(path)).sort();
  const p2pFlags = ['-fPIC', ...HIDDEN, ...p2pDefines(version)];
  const isDriver = (path: string) => /\/driver[^/]*\.c$/.test(path);
  const target = (name: string, sources: readonly string[], flags: readonly string[]) => ({
    name,
    sources,
    headers: cHeaders,
    flags: [...COMMON_FLAGS, ...THREADS, ...flags],
    libraries: ['-ldl'],
  });
  return [
    target(
      'libnccl-net-tcpx-emulator.so',
      inEmulator.filter((path) => isEmulatorSource(path.slice(emulatorFolder.length))),
      [...SHARED, ...HIDDEN],
    ),
    target('nccl-net-driver', inEmulator.filter(isDriver), []),
    target('libfake-cuda.so', inFake, SHARED),
    target('nccl-check', ['native/emulator/nccl-check.c'], []),
    target('libtcpx-logger.so', ['native/logger/logger.c'], [...SHARED, ...HIDDEN]),
    {
      ...target('libtcpx_p2p.so', inP2p, [...p2pFlags, '-shared', ...P2P_LINK]),
      alias: P2P_SONAME,
    },
    {
      ...target('libtcpx_p2p.a', inP2p, [...p2pFlags, '-r', '-nostdlib']),
      libraries: [],
      isArchive: true,
    },
    { ...target('p2p-check', inP2pCheck, []), libraries: [P2P_ARCHIVE, '-ldl'] },
    target('tcpx-launcher', ['native/launcher/launcher.c'], []),
    target('libtcpx-unpack.so', ['native/unpack/unpack.c'], [...SHARED, ...HIDDEN]),
    // Not under the name that NIXL looks for: its classes are not laid out as NIXL's.
    pluginTarget(paths, 'libtcpx-nixl-check.so', [`-I${NIXL_INTERFACE}`]),
    {
      name: 'nixl-check',
      sources: paths.filter((path) => /^native\/nixl-check\/[^/]+\.cpp$/.test(path)).sort(),
      headers,
      flags: [...CXX_FLAGS, `-I${NIXL_INTERFACE}`],
      libraries: ['-ldl'],
      isCxx: true,
    },
  ];
}
