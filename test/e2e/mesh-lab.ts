// A mesh in two network namespaces: one command in each, or mpirun that takes them for hosts.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MeshDocument } from '../../src/bench/mesh/mesh-figures.js';
import { cleanEnvironment, emulatorVariables } from '../native/plugin-environment.js';
import type { NetLab, NetLink } from '../support/net-lab.js';
import { type ChildResult, packageRoot, runChild, TEST_VARIABLES } from './child.js';

const PROGRAM = join(packageRoot, 'bin/tcpx.js');
const SECRET = { NIXL_TCPX_TRUST_SECRET: 'a secret for two namespaces' };
const TIMEOUT_MS = 120_000;

/** For the emulator on the interfaces of a namespace, with counters in a folder. */
export function emulatorOnLinks(folder: string): Record<string, string> {
  const own = Object.entries(emulatorVariables).filter(([name]) => name !== 'TCPX_EMU_NICS');
  const counters = mkdtempSync(join(folder, 'counters-'));
  const state = { TCPX_EMU_STATE_DIR: counters, NIXL_TCPX_TCPX_STATE_DIR: join(folder, 'sockets') };
  return { ...Object.fromEntries(own), ...state };
}

/** Why mpirun cannot be tried here, or undefined. */
export function mpirunObstacle(): string | undefined {
  const { status } = spawnSync('mpirun', ['--version']);
  return status === 0 ? undefined : 'needs mpirun (Debian package openmpi-bin)';
}

export interface MeshInLab {
  readonly mesh: MeshDocument;
  /** Folders of results, of rank 0 and of the other. */
  readonly stores: readonly string[];
}

/** The same command on both, but for the names of the NICs. */
export async function meshInLab(
  lab: NetLab,
  folder: string,
  words: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<MeshInLab> {
  const own = mkdtempSync(join(folder, 'run-'));
  const nodes = writeNodes(lab, own);
  const stores = ['left', 'right'].map((end) => join(own, end));
  const ends = (['left', 'right'] as const).map((end, index) => {
    const store = stores[index] ?? '';
    mkdirSync(store);
    const nics = lab.links.map((link) => (end === 'left' ? link.leftNic : link.rightNic)).join();
    const line = ['bench', 'mesh', '--nodes', nodes, '--nics', nics, ...words, '--json'];
    return runInside(lab, end, [process.execPath, PROGRAM, ...line], {
      ...{ ...SECRET, ...variables, NIXL_TCPX_BENCH_KEEP: '9' },
      ...{ NIXL_TCPX_BENCH_STORE_DIR: store, LOG_DIR: join(folder, 'logs') },
    });
  });
  const [first, other] = await Promise.all(ends);
  assert.ok(first !== undefined && other !== undefined);
  for (const { exitCode, stderr } of [first, other]) assert.equal(exitCode, 0, stderr);
  assert.equal(other.stdout, '', 'the document is rank 0’s');
  return { mesh: JSON.parse(first.stdout) as MeshDocument, stores };
}

export function mpirunInLab(
  lab: NetLab,
  folder: string,
  words: readonly string[],
): Promise<ChildResult> {
  const nodes = writeNodes(lab, folder);
  const [link] = lab.links;
  const agent = join(folder, 'agent.sh');
  // In place of ssh: the host, then the words of the daemon.
  const lines = [
    '#!/bin/sh',
    'host=$1; shift',
    `case $host in ${link?.leftHost}) space=${lab.left};; *) space=${lab.right};; esac`,
    'exec ip netns exec "$space" sh -c "$*"',
  ];
  writeFileSync(agent, `${lines.join('\n')}\n`, { mode: 0o755 });
  const variables = { ...TEST_VARIABLES, ...SECRET };
  const exports = Object.keys(variables).flatMap((name) => ['-x', name]);
  const mpirun = ['mpirun', '--allow-run-as-root', '--oversubscribe', '-np', '2'];
  const hosts = ['--hostfile', nodes, '--mca', 'plm', 'rsh', '--mca', 'plm_rsh_agent', agent];
  const mesh = [process.execPath, PROGRAM, 'bench', 'mesh', '--nodes', nodes, ...words];
  return runInside(lab, 'left', [...mpirun, ...hosts, ...exports, ...mesh], variables);
}

/** Both ways, by the counters of its ends. */
export function sentOverLink(lab: NetLab, { leftNic, rightNic }: NetLink): number {
  const sent = ([end, nic]: readonly ['left' | 'right', string]) => {
    const path = `/sys/class/net/${nic}/statistics/tx_bytes`;
    // The tree of a namespace is mounted by `ip netns exec`.
    const [program = '', ...words] = lab.inside(end, ['cat', path]);
    return Number(spawnSync(program, words, { encoding: 'utf8' }).stdout);
  };
  return sent(['left', leftNic]) + sent(['right', rightNic]);
}

function writeNodes({ links }: NetLab, folder: string): string {
  const path = join(folder, 'nodes.txt');
  const [link] = links;
  assert.ok(link !== undefined);
  writeFileSync(path, `# two nodes\n${link.leftHost} slots=1\n${link.rightHost} slots=1\n`);
  return path;
}

function runInside(
  lab: NetLab,
  end: 'left' | 'right',
  words: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<ChildResult> {
  const [program = '', ...rest] = lab.inside(end, words);
  const env = { ...cleanEnvironment(), ...TEST_VARIABLES, ...variables };
  return runChild(program, rest, { env, timeoutMs: TIMEOUT_MS });
}
