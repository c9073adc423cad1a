// The last step of the build: each entry of a thread or process, and the command line, as few files
// that are quick to load. src/base/launch.ts says which of both is started.

import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, extname, join, relative } from 'node:path';
import { type BuildOptions, build, type OutputFile, type Plugin } from 'esbuild';
import { repositoryRoot, walk } from './repository.js';

const SOURCES = join(repositoryRoot, 'dist/src');
const FOLDER = join(SOURCES, 'launch');
/** Has to know whether it is part of a launch file. */
const KEPT = /\/base\/launch\.js$/;
const ENTRY = /(-worker|-main|\/cli\/start)\.js$/;

const entries = walk(repositoryRoot, 'dist/src')
  .filter((path) => ENTRY.test(path) && !path.includes('/launch/'))
  .map((path) => join(repositoryRoot, path));
const names = entries.map((path) => basename(path, '.js'));
const double = names.find((name, index) => names.indexOf(name) !== index);
if (double !== undefined) throw new Error(`two entries are called ${double}`);

/** A module finds files by its own place, wherever its code has gone. */
const ownPlaces: Plugin = {
  name: 'own-places',
  setup(plugin) {
    plugin.onLoad({ filter: /\.js$/ }, async ({ path }) => {
      if (!path.startsWith(SOURCES)) return undefined;
      const text = await readFile(path, 'utf8');
      if (KEPT.test(path) || entries.includes(path)) return { contents: text };
      const place = JSON.stringify(relative(FOLDER, path));
      return {
        contents: text.replaceAll('import.meta.url', `new URL(${place}, import.meta.url).href`),
      };
    });
  },
};

/**
 * Modules that share parts: one thread loads several of these, and no module may be there twice. A
 * lane is among them for those that reach memory through a further module.
 */
const TOGETHER: readonly string[] = ['start.js', 'lane-worker.js', 'client-memory-main.js'];
const ALSO_ALONE = 'lane-worker.js';

async function buildGroup(entryPoints: string[], kind: BuildOptions): Promise<OutputFile[]> {
  const { outputFiles } = await build({
    entryPoints,
    outdir: FOLDER,
    entryNames: '[name]',
    chunkNames: 'part-[hash]',
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    packages: 'external',
    logLevel: 'warning',
    plugins: [ownPlaces],
    ...kind,
    write: false,
  });
  return outputFiles;
}

const MODULES: BuildOptions = { format: 'esm', splitting: true };
/**
 * Every other entry is one script of the older kind: each further file costs a start about half a
 * millisecond, and of a script V8 compiles only what is called.
 */
const SCRIPT: BuildOptions = {
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  // What a script has in place of a module's own address.
  banner: {
    js: '"use strict"; const ownUrl = require("node:url").pathToFileURL(__filename).href;',
  },
  define: { 'import.meta.url': 'ownUrl' },
};

const isTogether = (path: string): boolean => TOGETHER.includes(basename(path));
const builds = entries
  .filter((path) => !isTogether(path) || basename(path) === ALSO_ALONE)
  .map((path) => buildGroup([path], SCRIPT));
builds.push(buildGroup(entries.filter(isTogether), MODULES));
const outputFiles = (await Promise.all(builds)).flat();
mkdirSync(FOLDER, { recursive: true });
const made = new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]));
const isEntry = (name: string): number => Number(names.includes(basename(name, extname(name))));
// Entries last and each at once: whoever starts one meanwhile finds all that it imports.
for (const name of [...made.keys()].sort((a, b) => isEntry(a) - isEntry(b))) {
  writeFileSync(join(FOLDER, `${name}.new`), made.get(name) ?? '');
  renameSync(join(FOLDER, `${name}.new`), join(FOLDER, name));
}
for (const name of readdirSync(FOLDER)) if (!made.has(name)) rmSync(join(FOLDER, name));
