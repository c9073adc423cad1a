// Node of each release line that we promise: the newest that the npm registry has, taken as a plain
// archive and kept in .cache/. Nothing is installed, no script of a package runs. Without the
// registry the newest kept one serves.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { arch } from 'node:os';
import { join } from 'node:path';
import { repositoryRoot } from '../repository.js';
import { certificates } from './certificates.js';
import { newestOf } from './newest-version.js';

/** `engines` in package.json starts at the first. */
export const NODE_MAJORS: readonly number[] = [20, 22, 24, 26];

const PACKAGE = `node-linux-${arch()}`;
const cache = join(repositoryRoot, '.cache', PACKAGE);

/** The path of the program; throws where there is none, and says why. */
export function nodeBinary(major: number): string {
  mkdirSync(cache, { recursive: true });
  const version = newestOf(publishedVersions(), major) ?? newestOf(keptVersions(), major);
  if (version === undefined) {
    const registry = registryFault === '' ? 'the npm registry' : `npm (${registryFault})`;
    throw new Error(`Node ${major}: neither ${registry} nor .cache has ${PACKAGE}@${major}`);
  }
  const binary = binaryOf(version);
  if (!existsSync(binary)) fetchNode(version);
  return binary;
}

let published: string[] | undefined;
/** Empty where it has answered. */
let registryFault = '';

function publishedVersions(): string[] {
  if (published !== undefined) return published;
  const { status, stdout, stderr } = npm(['view', PACKAGE, 'versions', '--json']);
  if (status !== 0) registryFault = /code (\S+)/.exec(stderr)?.[1] ?? 'npm view failed';
  const versions: unknown = status === 0 ? JSON.parse(stdout) : [];
  published = Array.isArray(versions) ? versions.map(String) : [];
  return published;
}

function keptVersions(): string[] {
  return readdirSync(cache).filter((version) => existsSync(binaryOf(version)));
}

function binaryOf(version: string): string {
  return join(cache, version, 'package/bin/node');
}

// Unpacked beside its place and renamed last: a folder with a version's name is complete.
function fetchNode(version: string): void {
  const partial = join(cache, `partial-${process.pid}`);
  mkdirSync(partial, { recursive: true });
  try {
    const spec = `${PACKAGE}@${version}`;
    const packed = npm(['pack', spec, '--pack-destination', partial]);
    if (packed.status !== 0) throw new Error(`npm pack ${spec}: ${packed.stderr}`);
    const archive = join(partial, `${PACKAGE}-${version}.tgz`);
    const words = ['-xzf', archive, '-C', partial, 'package/bin/node'];
    const unpacked = spawnSync('tar', words, { encoding: 'utf8' });
    if (unpacked.status !== 0) throw new Error(`tar ${words.join(' ')}: ${unpacked.stderr}`);
    rmSync(archive);
    renameSync(partial, join(cache, version));
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

function npm(words: readonly string[]) {
  // The user's own timeouts are minutes; a machine without a network should say so soon.
  const flags = ['--fetch-retries=1', '--fetch-timeout=60000'];
  const env = { ...process.env, ...certificates() };
  return spawnSync('npm', [...words, ...flags], { encoding: 'utf8', cwd: cache, env });
}
