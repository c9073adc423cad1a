// `npm run pack:bundle`: makes build/tcpx-VERSION-linux-ARCH.tar.xz, everything that a host without
// Node needs to run `tcpx serve` and every other command.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { formatBytes } from '../src/base/units.js';
import { stageBundle } from './pack/bundle.js';
import { runTool } from './pack/stage.js';
import { repositoryRoot } from './repository.js';
import { readWords, refuse } from './words.js';

const USAGE = `npm run pack:bundle -- [--nixl PREFIX] [--output FOLDER] [--symbols]
  [--compress xz|gzip|none]
  makes one archive of node, the app, the libraries, header and Python module, in build/ or FOLDER
  --nixl PREFIX  builds the NIXL plugin with the headers there, and puts it in
  --symbols      keeps the symbols of node: a larger archive, made sooner`;
const SUFFIXES = { xz: '.tar.xz', gzip: '.tar.gz', none: '.tar' } as const;
const FLAGS = { xz: ['-J'], gzip: ['-z'], none: [] } as const;

main();

function main(): void {
  const { values } = readWords(USAGE, {
    options: {
      nixl: { type: 'string' },
      output: { type: 'string', default: join(repositoryRoot, 'build') },
      compress: { type: 'string', default: 'xz' },
      symbols: { type: 'boolean', default: false },
    },
  });
  const { compress } = values;
  if (compress !== 'xz' && compress !== 'gzip' && compress !== 'none') {
    refuse(`--compress ${compress}: xz, gzip or none is wanted`);
  }
  const output = resolve(values.output);
  const { version } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as {
    version: string;
  };
  const name = `tcpx-${version}-linux-${process.arch}`;
  const stage = join(output, `${name}.stage`);
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(join(stage, name), { recursive: true });
  const nixlPlugin = pluginFor(values.nixl, stage);
  stageBundle(join(stage, name), { version, nixlPlugin, isStripped: !values.symbols });
  const archive = join(output, `${name}${SUFFIXES[compress]}`);
  runTool('tar', ['-c', ...FLAGS[compress], '-f', archive, '-C', stage, name]);
  rmSync(stage, { recursive: true });
  process.stdout.write(`${archive}: ${formatBytes(statSync(archive).size)}\n`);
}

/** Built for the NIXL that was named, else what lies in build/nixl, else none. */
function pluginFor(nixl: string | undefined, stage: string): string | undefined {
  const made = join(repositoryRoot, 'build/nixl/libplugin_TCPX.so');
  if (nixl !== undefined) {
    const folder = join(stage, 'nixl');
    const script = join(repositoryRoot, 'dist/scripts/build-nixl-plugin.js');
    const words = [script, '--nixl', resolve(nixl), '--output', folder];
    const { status } = spawnSync(process.execPath, words, { stdio: ['ignore', 2, 2] });
    // It has said why.
    if (status !== 0) process.exit(status ?? 1);
    return join(folder, 'libplugin_TCPX.so');
  }
  if (existsSync(made)) return made;
  process.stderr.write('without libplugin_TCPX.so, which belongs to one NIXL: --nixl PREFIX\n');
  return undefined;
}
