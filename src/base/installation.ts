// Whether this package can run where it is: operating system, processor, C library, and its files
// beside its code. Asked before the FFI library is loaded, whose own words would be about itself.

import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { TcpxError } from './errors.js';

export interface InstallationFacts {
  readonly platform: string;
  readonly arch: string;
  /** The first bytes of the Node program, which name its loader. */
  readonly programHead: string;
  /** Of this very module; undefined where a bundler took it away. */
  readonly moduleUrl: string | undefined;
  /** Webpack and its kin write the module's old place into the bundle: it proves nothing there. */
  readonly isInWebpack: boolean;
}

const PROCESSORS: readonly string[] = ['x64', 'arm64'];
/** Started as a thread by its path: where it is missing, the code was moved without it. */
const WORKER_FILE = '../provider/tcp/lane/lane-worker.js';

/** What keeps the package from running here; undefined where nothing does. */
export function installationProblem(facts: InstallationFacts): TcpxError | undefined {
  const { platform, arch } = facts;
  if (platform !== 'linux' || !PROCESSORS.includes(arch)) {
    return new TcpxError(
      'ERR_CAP_PLATFORM',
      `nixl-tcpx runs on Linux (x64, arm64) with glibc; this is ${platform} ${arch}`,
      { facts: { platform, arch } },
    );
  }
  if (/\/ld-musl-/.test(facts.programHead)) {
    return new TcpxError(
      'ERR_CAP_PLATFORM',
      'nixl-tcpx needs glibc; this Node is built for musl, as on Alpine',
      { facts: { platform, arch, libc: 'musl' } },
    );
  }
  return isWhole(facts) ? undefined : bundledError();
}

function isWhole({ moduleUrl, isInWebpack }: InstallationFacts): boolean {
  return moduleUrl !== undefined && !isInWebpack && existsSync(new URL(WORKER_FILE, moduleUrl));
}

function bundledError(): TcpxError {
  return new TcpxError(
    'ERR_CAP_BUNDLED',
    'the worker files of nixl-tcpx are not beside its code: it was bundled. Name nixl-tcpx as ' +
      'external in the bundler, and install it where the bundle runs',
  );
}

export function installationFacts(moduleUrl: string | undefined): InstallationFacts {
  const { platform, arch } = process;
  const isInWebpack = typeof __webpack_require__ !== 'undefined';
  return { platform, arch, programHead: programHead(), moduleUrl, isInWebpack };
}

declare const __webpack_require__: unknown;

const HEAD_BYTES = 4096;

function programHead(): string {
  try {
    const file = openSync(process.execPath, 'r');
    try {
      const head = Buffer.alloc(HEAD_BYTES);
      return head.toString('latin1', 0, readSync(file, head));
    } finally {
      closeSync(file);
    }
  } catch {
    // An unreadable program is no reason to refuse: what is really missing says so later.
    return '';
  }
}
