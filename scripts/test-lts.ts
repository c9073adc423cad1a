// `npm run test:lts [-- FILTER…]`: the test suite under the newest Node 24, taken from npm as a
// plain archive and kept in .cache/; nothing is installed. Offline, the newest kept one is used.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { arch } from 'node:os';
import { join } from 'node:path';
import { repositoryRoot } from './repository.js';
import { newestOf } from './suite/node-versions.js';

const LTS_MAJOR = 24;
const PACKAGE = `node-linux-${arch()}`;
const cache = join(repositoryRoot, '.cache', PACKAGE);

process.exitCode = main();

function main(): number {
  mkdirSync(cache, { recursive: true });
  const version = newestOf(publishedVersions(), LTS_MAJOR) ?? newestOf(keptVersions(), LTS_MAJOR);
  if (version === undefined) {
    process.stderr.write(`test:lts: no ${PACKAGE}@${LTS_MAJOR} in the registry nor in .cache\n`);
    return 1;
  }
  const node = fetchNode(version);
  const seen = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
  process.stdout.write(`node ${seen}\n`);
  const script = join(repositoryRoot, 'dist/scripts/test.js');
  const { status } = spawnSync(node, [script, ...process.argv.slice(2)], { stdio: 'inherit' });
  return status ?? 1;
}

function publishedVersions(): string[] {
  const { status, stdout } = spawnSync('npm', ['view', PACKAGE, 'versions', '--json'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  if (status !== 0) return [];
  const versions: unknown = JSON.parse(stdout);
  return Array.isArray(versions) ? versions.map(String) : [];
}

function keptVersions(): string[] {
  return readdirSync(cache).filter((version) => existsSync(binaryOf(version)));
}

function binaryOf(version: string): string {
  return join(cache, version, 'package/bin/node');
}

// Unpacked beside its place and renamed last: a folder with a version's name is complete.
function fetchNode(version: string): string {
  const binary = binaryOf(version);
  if (existsSync(binary)) return binary;
  const partial = join(cache, `partial-${process.pid}`);
  mkdirSync(partial, { recursive: true });
  const spec = `${PACKAGE}@${version}`;
  execFileSync('npm', ['pack', spec, '--pack-destination', partial], { stdio: 'ignore' });
  const archive = join(partial, `${PACKAGE}-${version}.tgz`);
  execFileSync('tar', ['-xzf', archive, '-C', partial]);
  rmSync(archive);
  rmSync(join(cache, version), { recursive: true, force: true });
  renameSync(partial, join(cache, version));
  return binary;
}
