// The adapter as a plugin of a NIXL checkout: files in src/plugins/tcpx, and two places in NIXL's
// own recipes that name it.

import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { TcpxError } from '../../src/base/errors.js';
import { repositoryRoot } from '../repository.js';
import { P2P_ARCHIVE } from './targets.js';

const PLUGIN_FOLDER = 'src/plugins/tcpx';
const CALL = "\nif enabled_plugins.get('TCPX')\n    subdir('tcpx')\nendif\n";

const OURS =
  /^native\/nixl\/([^/]+\.(cpp|h)|symbols\.version|meson\/[^/]+)$|^include\/tcpx_p2p\.h$/;

/** What goes into the checkout, relative to this repository; the C library has been built. */
export function treeFiles(paths: readonly string[]): string[] {
  return [...paths.filter((path) => OURS.test(path)), P2P_ARCHIVE];
}

/** Adds TCPX to the list of plugins; undefined where there is no such list. */
export function namePlugin(recipe: string): string | undefined {
  const list = /^all_plugins = \[[^\]]*\]/m.exec(recipe)?.[0];
  if (list === undefined) return undefined;
  if (list.includes("'TCPX'")) return recipe;
  return recipe.replace(list, list.replace(/\]$/, ", 'TCPX']"));
}

export function callPlugin(recipe: string): string {
  return recipe.includes("subdir('tcpx')") ? recipe : recipe + CALL;
}

/** Into a checkout; again as often as wanted. */
export function placeInTree(tree: string, paths: readonly string[]): string {
  const folder = join(tree, PLUGIN_FOLDER);
  const [main, plugins] = [join(tree, 'meson.build'), join(tree, 'src/plugins/meson.build')];
  const named = namePlugin(readFileSync(main, 'utf8'));
  if (named === undefined) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', `${main}: no list all_plugins; not a NIXL checkout`);
  }
  mkdirSync(folder, { recursive: true });
  for (const path of treeFiles(paths)) {
    copyFileSync(join(repositoryRoot, path), join(folder, basename(path)));
  }
  writeFileSync(main, named);
  writeFileSync(plugins, callPlugin(readFileSync(plugins, 'utf8')));
  return folder;
}
