// The bundle: one folder with everything, for hosts that have a glibc and nothing else of ours. It
// may lie anywhere and be moved.
//
//   bin/tcpx, bin/node │ app/ │ lib/*.so, lib/runtime/ │ include/ │ python/ │ README.txt, LICENSE…

import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, relative } from 'node:path';
import { NATIVE_FOLDER } from '../native/targets.js';
import { repositoryRoot } from '../repository.js';
import { baseOf, packedPaths } from './packed-paths.js';
import { stageApp, stageNode } from './stage.js';

export interface BundleOptions {
  readonly version: string;
  /** libplugin_TCPX.so, built for one NIXL; undefined: left out. */
  readonly nixlPlugin: string | undefined;
  readonly isStripped: boolean;
}

/** Parts of the npm package that the app does not read: for people, or elsewhere in the bundle. */
const NOT_OF_APP = [
  'CHANGELOG.md',
  'SECURITY.md',
  'deploy',
  'docs/*.md',
  'docs/decisions',
  'examples',
  'include',
  'man',
  'native/nixl',
  'native/p2p',
  'python/tcpx_p2p.py',
];
/** Looked for by the app in its own build folder. */
const APP_LIBRARIES = ['libtcpx-logger.so', 'libtcpx-unpack.so'];
const P2P = 'libtcpx_p2p.so';
/** Of node and the FFI library; hosts without a compiler may lack them. */
const RUNTIME = ['libstdc++.so.6', 'libgcc_s.so.1'];

/** Fills the folder, which is new. */
export function stageBundle(folder: string, options: BundleOptions): void {
  stageNode(join(folder, 'bin'), options.isStripped);
  place(join(NATIVE_FOLDER, 'tcpx-launcher'), join(folder, 'bin'), 'tcpx');
  stageApp(join(folder, 'app'), appPaths());
  for (const name of APP_LIBRARIES) {
    place(join(NATIVE_FOLDER, name), join(folder, 'app', NATIVE_FOLDER));
  }
  const lib = join(folder, 'lib');
  place(join(NATIVE_FOLDER, P2P), lib);
  symlinkSync(P2P, join(lib, `${P2P}.1`));
  if (options.nixlPlugin !== undefined) place(options.nixlPlugin, lib, 'libplugin_TCPX.so');
  for (const path of runtimeLibraries()) place(path, join(lib, 'runtime'));
  place('include/tcpx_p2p.h', join(folder, 'include'));
  place('python/tcpx_p2p.py', join(folder, 'python'));
  place('examples/tcpx-serve.service', join(folder, 'examples'));
  place('LICENSE', folder);
  const licence = nodeLicence();
  if (licence !== undefined) place(licence, folder, 'LICENSE.node');
  writeFileSync(join(folder, 'README.txt'), readme(folder, options));
}

/** Whatever npm would pack; types are for compilers. */
function appPaths(): string[] {
  const text = readFileSync(join(repositoryRoot, 'package.json'), 'utf8');
  const { files } = JSON.parse(text) as { files: readonly string[] };
  const bases = files.filter((entry) => !entry.startsWith('!')).map(baseOf);
  const paths = packedPaths(files, [...new Set(bases)].flatMap(filesBelow), NOT_OF_APP);
  const own = [...new Set(paths)].filter((path) => !path.endsWith('.d.ts'));
  return ['package.json', ...own];
}

function filesBelow(path: string): string[] {
  const place = join(repositoryRoot, path);
  if (!statSync(place).isDirectory()) return [path];
  return readdirSync(place, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(repositoryRoot, join(entry.parentPath, entry.name)));
}

function place(from: string, folder: string, name = basename(from)): void {
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(from.startsWith('/') ? '' : repositoryRoot, from), join(folder, name));
}

// Where the loader finds them for node; one that is linked into node is not there.
function runtimeLibraries(): string[] {
  const listed = execFileSync('ldd', [process.execPath], { encoding: 'utf8' });
  return RUNTIME.flatMap((name) => {
    const line = listed.split('\n').find((one) => one.trim().startsWith(`${name} => /`));
    return line === undefined ? [] : [line.trim().split(' ')[2] ?? ''];
  });
}

function nodeLicence(): string | undefined {
  const places = [join(process.execPath, '../../LICENSE'), '/usr/share/doc/nodejs/LICENSE'];
  return places.find((path) => existsSync(path));
}

/** The newest version of the C library that any of the files asks for. */
export function neededGlibc(paths: readonly string[]): string {
  const versions = paths.flatMap((path) => {
    const heads = execFileSync('objdump', ['-p', path], { encoding: 'utf8' });
    return [...heads.matchAll(/GLIBC_(\d+)\.(\d+)/g)].map(([, major, minor]) => ({
      major: Number(major),
      minor: Number(minor),
    }));
  });
  versions.sort((left, right) => right.major - left.major || right.minor - left.minor);
  const [newest] = versions;
  return newest === undefined ? 'none' : `${newest.major}.${newest.minor}`;
}

function readme(folder: string, { version, nixlPlugin }: BundleOptions): string {
  const needed = (...paths: readonly string[]): string =>
    neededGlibc(paths.map((path) => join(folder, path)).filter((path) => existsSync(path)));
  const own = needed('bin/tcpx', 'bin/node', `lib/${P2P}`, 'lib/libplugin_TCPX.so');
  const runtime = needed(...RUNTIME.map((name) => `lib/runtime/${name}`));
  const plugin =
    nixlPlugin === undefined
      ? 'not in this bundle: it is made for one NIXL (pack:bundle --nixl PREFIX)'
      : 'backend TCPX of NIXL, for the NIXL that it was built with';
  const node = `node ${process.version}`;
  return `nixl-tcpx ${version} for Linux ${process.arch}, glibc ${own} or newer, ${node}

bin/tcpx               every command; may be linked to from elsewhere
lib/${P2P}      C library; include/tcpx_p2p.h is its header, python/tcpx_p2p.py its module
lib/libplugin_TCPX.so  ${plugin}
lib/runtime/           C++ run time for bin/tcpx where the host has none (glibc ${runtime} or newer)
examples/              a unit for systemd

  bin/tcpx serve
  NIXL_TCPX_SERVICE_AUTOSTART=1 NIXL_TCPX_SERVICE_COMMAND="$PWD/bin/tcpx serve" program
`;
}
