// The bundle, made, unpacked and run where there is nothing else: a root of its own with the C
// library and the loader, no PATH, no shell, no Node.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { COMMAND_LOADERS } from '../../src/cli/command-loaders.js';
import { packageRoot } from '../e2e/child.js';
import {
  CHECK_PLUGIN,
  CHECK_PROGRAM,
  hasCxx,
  move,
  nixlEnd,
  nixlLoad,
  nixlMemory,
} from './nixl-world.js';
import { addMemory, load, type RunningService, ServiceWorld } from './service-world.js';

const world = new ServiceWorld();
after(() => world.close());
const canUnshare =
  process.getuid?.() === 0 && spawnSync('unshare', ['--mount', 'true']).status === 0;
const hasPython = spawnSync('python3', ['--version']).status === 0;
const skip = canUnshare ? false : 'needs root and a mount namespace of its own';

/** For what does not know where it lies, as bin/tcpx does. */
const RUNTIME = ['PATH=', 'LD_LIBRARY_PATH=/opt/moved/lib/runtime'];

/** Of the C library alone: what a program in C is linked with. */
function copyLibc(root: string): void {
  const program = join(packageRoot, 'build/native/p2p-check');
  const listed = execFileSync('ldd', [program, process.execPath], { encoding: 'utf8' });
  const isLibc = /^(libc|libm|libdl|libpthread|ld-linux[^/]*)\.so/;
  for (const [path] of listed.matchAll(/\/\S+/g)) {
    const name = path.slice(path.lastIndexOf('/') + 1);
    if (!isLibc.test(name)) continue;
    mkdirSync(join(root, dirname(path)), { recursive: true });
    copyFileSync(path, join(root, path));
  }
}

/** As NIXL would be installed, with the headers that its interface was written down in. */
function makePrefix(folder: string): string {
  const prefix = join(folder, 'prefix');
  mkdirSync(prefix);
  symlinkSync(join(packageRoot, 'native/nixl/interface'), join(prefix, 'include'));
  return prefix;
}

/**
 * Gives what was built of the same sources with the same headers: to compile takes seconds, and
 * building for a prefix has a test of its own.
 */
function makeCompiler(folder: string): string {
  const compiler = join(folder, 'c++');
  const lines = [
    '#!/bin/sh',
    'while [ $# -gt 0 ]; do case $1 in -o) out=$2;; esac; shift; done',
    `case $out in "") ;; *.o) : >"$out";; *) cp '${CHECK_PLUGIN}' "$out";; esac`,
  ];
  writeFileSync(compiler, `${lines.join('\n')}\n`, { mode: 0o755 });
  return compiler;
}

/** A root with the bundle in /opt, under another name than it was packed with. */
function makeRoot(): string {
  const folder = world.newFolder();
  const words = ['--output', folder, '--compress', 'none', '--symbols'];
  if (hasCxx) words.push('--nixl', makePrefix(folder));
  execFileSync(process.execPath, [join(packageRoot, 'dist/scripts/pack-bundle.js'), ...words], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, CXX: makeCompiler(folder) },
  });
  const [archive = ''] = readdirSync(folder).filter((name) => name.endsWith('.tar'));
  const root = join(folder, 'root');
  for (const name of ['proc', 'dev', 'tmp', 'opt/moved']) {
    mkdirSync(join(root, name), { recursive: true });
  }
  const target = join(root, 'opt/moved');
  execFileSync('tar', ['-xf', join(folder, archive), '-C', target, '--strip-components=1']);
  rmSync(join(folder, archive));
  copyLibc(root);
  copyFileSync(join(packageRoot, 'build/native/p2p-check'), join(root, 'opt/p2p-check'));
  if (hasCxx) copyFileSync(CHECK_PROGRAM, join(root, 'opt/nixl-check'));
  symlinkSync('/opt/moved/bin/tcpx', join(root, 'opt/tcpx'));
  return root;
}

/** Words that run a program of that root, in it. Environment variables are given by the caller. */
function inside(root: string, words: readonly string[], env: readonly string[] = []): string[] {
  const mounts = `mount -t proc proc ${root}/proc && mount --rbind /dev ${root}/dev`;
  const script = `${mounts} && exec env -i ${env.join(' ')} $(command -v chroot) ${root} "$@"`;
  return ['unshare', '--mount', 'sh', '-c', script, 'sh', ...words];
}

function run(root: string, ...words: readonly string[]) {
  const [tool = '', ...rest] = inside(root, ['/opt/tcpx', ...words], ['PATH=']);
  return spawnSync(tool, rest, { encoding: 'utf8', timeout: 60_000 });
}

/** Help of every command or group by its first word, each a process started by one in the root. */
function assertHelps(root: string): void {
  const tops = [...new Set(Object.keys(COMMAND_LOADERS).map((name) => name.split(' ')[0] ?? ''))];
  // So many at a time as the host has cores.
  const script = `
    const { execFile } = require('node:child_process');
    const left = ${JSON.stringify(tops)}.values();
    const seen = {};
    const helper = async () => {
      for (const top of left) seen[top] = await new Promise((resolve) => {
        execFile('/opt/tcpx', [top, '--help'], { env: { PATH: '' } }, (error, stdout, stderr) => {
          resolve([error?.code ?? 0, stdout.split('\\n', 1)[0], stderr]);
        });
      });
    };
    const all = Array.from({ length: require('node:os').availableParallelism() }, helper);
    Promise.all(all).then(() => console.log(JSON.stringify(seen)));`;
  const [tool = '', ...rest] = inside(root, ['/opt/moved/bin/node', '-e', script], RUNTIME);
  const { status, stdout, stderr } = spawnSync(tool, rest, { encoding: 'utf8', timeout: 60_000 });
  assert.equal(status, 0, stderr);
  const seen = JSON.parse(stdout) as Readonly<Record<string, [number, string, string]>>;
  for (const top of tops) {
    const [code = -1, first = '', said = ''] = seen[top] ?? [];
    assert.equal(code, 0, `${top}: ${said}`);
    assert.match(first, new RegExp(`^tcpx ${top}\\b`));
  }
}

/** As a program of NIXL with NIXL_PLUGIN_DIR there: loaded by its name, and used. */
async function assertPlugin(root: string, service: RunningService): Promise<void> {
  const words = ['/opt/nixl-check', '/opt/moved/lib/libplugin_TCPX.so'];
  const options = { inside: () => inside(root, words, RUNTIME) };
  const from = await nixlEnd(world, service, 'from', options);
  const to = await nixlEnd(world, service, 'to', options);
  const here = await nixlMemory(from, 100_003, 'dram');
  const there = await nixlMemory(to, 100_003, 'dram');
  const target = await nixlLoad(from, to, there);
  await from.program.do(`fill ${here.id} 5`);
  await move(from.program, `write to ${here.id} ${target} 100003`);
  assert.equal(await to.program.do(`same ${there.id} 5`), 'same 100003');
}

test('bundle: runs in a root with a C library and nothing else', { skip }, async () => {
  const root = makeRoot();
  assert.ok(!existsSync(join(root, 'bin')), 'no shell');
  for (const path of ['include/tcpx_p2p.h', 'python/tcpx_p2p.py', 'lib/libtcpx_p2p.so.1']) {
    assert.ok(existsSync(join(root, 'opt/moved', path)), path);
  }
  // The host's Python, with the path and nothing else: the module finds the library by itself.
  if (hasPython) {
    const script = 'import tcpx_p2p; print(tcpx_p2p._places()[0])';
    const env = { PATH: process.env['PATH'], PYTHONPATH: join(root, 'opt/moved/python') };
    const found = spawnSync('python3', ['-c', `${script}; tcpx_p2p._library()`], {
      env,
      encoding: 'utf8',
    });
    assert.equal(found.status, 0, found.stderr);
    assert.match(found.stdout, /opt\/moved\/python\/\.\.\/lib\/libtcpx_p2p\.so$/m);
  }
  assert.equal(existsSync(join(root, 'opt/moved/lib/libplugin_TCPX.so')), hasCxx, 'plugin of NIXL');
  assertHelps(root);
  const kernels = readdirSync(join(root, 'opt/moved/app/kernels'));
  assert.ok(kernels.some((name) => name.endsWith('.ptx')));
  const bench = run(root, 'bench', 'loopback', '--json', '--size', '64KiB', '--iters', '3');
  assert.equal(bench.status, 0, bench.stderr);
  assert.match(bench.stdout, /"schema":\s*"tcpx\.bench/);
  const shown = run(root, 'bench', 'show', 'latest');
  assert.equal(shown.status, 0, shown.stderr);
  const app = join(root, 'opt/moved/app');
  for (const path of ['emulator/plugin.c', 'emulator/emulator.h', 'nccl-net-v7.h', 'symbols.h']) {
    assert.ok(existsSync(join(app, 'native', path)), path);
  }
  for (const path of ['native/emulator/driver.c', 'docs', 'dist/src/index.d.ts']) {
    assert.ok(!existsSync(join(app, path)), path);
  }
  const library = run(root, 'library', '--json');
  assert.equal(library.status, 0, library.stderr);
  const { schema, ...files } = JSON.parse(library.stdout) as Record<string, string>;
  assert.equal(schema, 'tcpx.library/1');
  for (const path of Object.values(files)) assert.ok(existsSync(join(root, path)), path);
  const wrong = run(root, 'serve', '--fodler', '/tmp');
  assert.equal(wrong.status, 2, wrong.stderr);
  assert.match(wrong.stderr, /--folder/);

  const service = await world.service({
    folder: '/tmp/service',
    inside: ([, , ...words]) => inside(root, ['/opt/tcpx', ...words], ['PATH=']),
  });
  const program = { inside: () => inside(root, ['/opt/p2p-check']) };
  const a = await world.end(service, 'alice', program);
  const b = await world.end(service, 'bob', program);
  const here = await addMemory(a, 1_000_003, 'malloc');
  const there = await addMemory(b, 1_000_003, 'alloc');
  const { peer, region } = await load(a, b, there);
  await a.program.do(`fill ${here.id} 5`);
  await a.program.do(`write ${peer} ${here.id} ${region} 1000003`);
  assert.equal(await b.program.do(`check ${there.id} 5`), 'same 1000003');
  if (hasCxx) await assertPlugin(root, service);
});
