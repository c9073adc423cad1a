// Fetches the Debian packages of the virtual machine and unpacks them below .cache/vm: nothing is
// installed, and no privilege is needed. QEMU of the system is used where there is one.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export interface VmTools {
  readonly qemu: string;
  readonly qemuArguments: readonly string[];
  readonly qemuEnvironment: Readonly<Record<string, string>>;
  readonly kernelImage: string;
  /** lib/modules/RELEASE/kernel of the guest's kernel. */
  readonly modulesFolder: string;
  readonly busybox: string;
}

const KERNEL_META_PACKAGE = 'linux-image-cloud-amd64';

export function fetchTools(cache: string): VmTools {
  const kernel = join(cache, 'kernel');
  const tools = join(cache, 'tools');
  if (!existsSync(join(kernel, 'boot'))) unpack(cache, [kernelPackage()], kernel);
  if (!existsSync(join(tools, 'bin/busybox'))) unpack(cache, ['busybox-static'], tools);
  const release = readdirSync(join(kernel, 'lib/modules'))[0] ?? '';
  return {
    ...qemuTools(cache),
    kernelImage: join(kernel, 'boot', `vmlinuz-${release}`),
    modulesFolder: join(kernel, 'lib/modules', release, 'kernel'),
    busybox: join(tools, 'bin/busybox'),
  };
}

function qemuTools(cache: string) {
  const system = '/usr/bin/qemu-system-x86_64';
  if (existsSync(system)) return { qemu: system, qemuArguments: [], qemuEnvironment: {} };
  const folder = join(cache, 'qemu');
  const qemu = join(folder, 'usr/bin/qemu-system-x86_64');
  if (!existsSync(qemu)) unpack(cache, qemuPackages(), folder);
  const data = ['usr/share/qemu', 'usr/share/seabios', 'usr/lib/ipxe/qemu'];
  const libraries = ['usr/lib/x86_64-linux-gnu', 'lib/x86_64-linux-gnu'];
  return {
    qemu,
    qemuArguments: data.flatMap((path) => ['-L', join(folder, path)]),
    qemuEnvironment: {
      LD_LIBRARY_PATH: libraries.map((path) => join(folder, path)).join(':'),
    },
  };
}

function kernelPackage(): string {
  const text = run('apt-cache', ['depends', KERNEL_META_PACKAGE]);
  const name = /Depends: (linux-image-\S+)/.exec(text)?.[1];
  if (name === undefined) throw new Error(`${KERNEL_META_PACKAGE} names no kernel: apt-get update`);
  return name;
}

/** QEMU and those of its dependencies that this system lacks. */
function qemuPackages(): readonly string[] {
  const options = ['install', '--simulate', '--no-install-recommends', 'qemu-system-x86'];
  const lines = run('apt-get', options).split('\n');
  return lines.map((line) => /^Inst (\S+)/.exec(line)?.[1]).filter((name) => name !== undefined);
}

function unpack(cache: string, packages: readonly string[], target: string): void {
  const downloads = join(cache, 'downloads', packages.at(-1) ?? '');
  mkdirSync(downloads, { recursive: true });
  mkdirSync(target, { recursive: true });
  run('apt-get', ['download', ...packages], downloads);
  for (const name of readdirSync(downloads)) run('dpkg', ['-x', join(downloads, name), target]);
}

function run(program: string, words: readonly string[], folder?: string): string {
  return execFileSync(program, words, {
    encoding: 'utf8',
    cwd: folder,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}
