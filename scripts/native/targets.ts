// What is built from native/: outputs, their sources and flags. Pure.

export const NATIVE_FOLDER = 'build/native';

export interface NativeTarget {
  readonly name: string;
  readonly sources: readonly string[];
  readonly headers: readonly string[];
  readonly flags: readonly string[];
  readonly libraries: readonly string[];
}

const COMMON_FLAGS = ['-std=c11', '-D_GNU_SOURCE', '-O2', '-g', '-Wall', '-Wextra', '-Werror'];
const THREADS = ['-pthread'];
const SHARED = ['-fPIC', '-shared'];
// Only what is marked for export leaves the library.
const HIDDEN = ['-fvisibility=hidden'];

/** `paths` are all files below native/. */
export function nativeTargets(paths: readonly string[]): NativeTarget[] {
  const headers = paths.filter((path) => path.endsWith('.h')).sort();
  const inEmulator = paths
    .filter((path) => /^native\/emulator\/[^/]+\.c$/.test(path))
    .filter((path) => !path.endsWith('/nccl-check.c'))
    .sort();
  const inFake = paths.filter((path) => /^native\/fake-cuda\/[^/]+\.c$/.test(path)).sort();
  const isDriver = (path: string) => /\/driver[^/]*\.c$/.test(path);
  const target = (name: string, sources: readonly string[], flags: readonly string[]) => ({
    name,
    sources,
    headers,
    flags: [...COMMON_FLAGS, ...THREADS, ...flags],
    libraries: ['-ldl'],
  });
  return [
    target(
      'libnccl-net-tcpx-emulator.so',
      inEmulator.filter((path) => !isDriver(path)),
      [...SHARED, ...HIDDEN],
    ),
    target('nccl-net-driver', inEmulator.filter(isDriver), []),
    target('libfake-cuda.so', inFake, SHARED),
    target('nccl-check', ['native/emulator/nccl-check.c'], []),
    target('libtcpx-logger.so', ['native/logger/logger.c'], [...SHARED, ...HIDDEN]),
    target('libtcpx-unpack.so', ['native/unpack/unpack.c'], [...SHARED, ...HIDDEN]),
  ];
}
