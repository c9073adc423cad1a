// `npm run build:nixl-plugin -- --nixl PREFIX`: makes build/nixl/libplugin_TCPX.so with the headers
// of a NIXL, which it then belongs to. `--tree CHECKOUT` puts the sources into a checkout of NIXL
// instead, for its own build. Without a compiler the exit status is 3.

import { existsSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { isTcpxError } from '../src/base/errors.js';
import { buildTarget, compilerOf, hasCompiler, nativePaths } from './native/build.js';
import { findNixlHeaders } from './native/nixl-headers.js';
import { placeInTree } from './native/nixl-tree.js';
import { nativeTargets, P2P_ARCHIVE, pluginTarget } from './native/targets.js';
import { repositoryRoot } from './repository.js';
import { readWords, refuse } from './words.js';

const USAGE = `npm run build:nixl-plugin -- --nixl PREFIX [--output FOLDER]
  builds libplugin_TCPX.so with NIXL's headers, into build/nixl or FOLDER; PREFIX is where NIXL is
  installed (PREFIX/include/backend/backend_plugin.h), or a checkout of it
npm run build:nixl-plugin -- --tree CHECKOUT
  puts the sources into a checkout of NIXL, for its own build`;

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = readWords(USAGE, {
    options: { nixl: { type: 'string' }, tree: { type: 'string' }, output: { type: 'string' } },
  });
  const output = resolve(values.output ?? join(repositoryRoot, 'build/nixl'));
  try {
    if (values.tree !== undefined) return await place(resolve(values.tree));
    if (values.nixl !== undefined) return await build(resolve(values.nixl), output);
  } catch (error) {
    if (!isTcpxError(error)) throw error;
    process.stderr.write(`${error.code}: ${error.message}\n`);
    return error.code === 'ERR_CAP_MISSING_TOOL' ? 3 : 4;
  }
  return refuse(`NIXL's headers are needed: --nixl\n${USAGE}`);
}

async function build(nixl: string, output: string): Promise<number> {
  const headers = findNixlHeaders(nixl);
  if (headers === undefined) {
    return refuse(
      `--nixl ${nixl}: no include/backend/backend_plugin.h below it. Name the folder that NIXL ` +
        'was installed to with its headers (meson -Dinstall_headers=true), or a checkout of ' +
        'github.com/ai-dynamo/nixl. The Python wheels of NIXL have no headers: take a checkout ' +
        'of the same version.',
    );
  }
  const paths = nativePaths();
  // Ours first: NIXL's own header of logging needs a recent Abseil. As system headers, because
  // warnings about them help nobody here.
  const theirs = headers.includes.map((folder) => `-isystem${folder}`);
  const target = pluginTarget(paths, 'libplugin_TCPX.so', ['-Inative/nixl/quiet', ...theirs]);
  if (!hasCompiler(compilerOf(target))) {
    process.stderr.write(`${compilerOf(target)}: not found; a C++20 compiler is needed (g++ 12)\n`);
    return 3;
  }
  await buildLibrary(paths);
  await buildTarget(target, output);
  const whose = headers.version === undefined ? 'that NIXL' : `NIXL ${headers.version}`;
  process.stdout.write(
    `${join(output, target.name)} is for ${whose}: copy it to the plugins folder of that ` +
      `NIXL, or set NIXL_PLUGIN_DIR=${output}\n`,
  );
  return 0;
}

async function place(tree: string): Promise<number> {
  if (!existsSync(join(tree, 'src/api/cpp/backend/backend_plugin.h'))) {
    return refuse(`--tree ${tree}: no checkout of NIXL: src/api/cpp/backend is not below it`);
  }
  const paths = nativePaths();
  await buildLibrary(paths);
  const folder = placeInTree(tree, paths);
  process.stdout.write(`${folder} is in place: build NIXL as usual, with meson and ninja\n`);
  return 0;
}

async function buildLibrary(paths: readonly string[]): Promise<void> {
  const { version } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as {
    version: string;
  };
  const archive = basename(P2P_ARCHIVE);
  for (const target of nativeTargets(paths, version)) {
    if (target.name === archive) await buildTarget(target);
  }
}
