// The guest's only file system: busybox, node with its shared libraries, our build, the FFI module
// and the virtio drivers. `/init` mounts what the kernel offers, raises the NICs and runs the test.

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type ArchiveEntry, cpioArchive, fileEntry, linkEntry, withParents } from './cpio.js';
import { dependenciesOf, loadingOrder } from './module-order.js';
import type { VmTools } from './packages.js';

/** Those that the kernel has built in are absent and skipped. */
const MODULES = [
  'drivers/virtio/virtio.ko',
  'drivers/virtio/virtio_ring.ko',
  'drivers/virtio/virtio_pci_modern_dev.ko',
  'drivers/virtio/virtio_pci_legacy_dev.ko',
  'drivers/virtio/virtio_pci.ko',
  'net/core/failover.ko',
  'drivers/net/net_failover.ko',
  'drivers/net/virtio_net.ko',
];

const INIT = `#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mkdir -p /proc /sys /dev /tmp /run /var/lib
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
hostname vm-guest
for module in $(cat /modules/order); do insmod "/modules/$module"; done
ip link set lo up
# By their addresses, which the machine gives in the order of its taps: the kernel may find the
# NICs in another, and a socket that is bound to one would not hear its peer.
for nic in 0 1 2 3; do
  read -r mac < "/sys/class/net/eth$nic/address"
  ip link set "eth$nic" name "tap$((\${mac##*:} - 1))"
done
for nic in 0 1 2 3; do ip link set "tap$nic" name "eth$nic"; done
for nic in 0 1 2 3; do
  ip link set "eth$nic" up
  ip addr add "10.77.$nic.2/24" dev "eth$nic"
done
node /app/dist/scripts/vm/guest.js
echo "VM-EXIT $?"
poweroff -f
`;

export function buildInitramfs(repository: string, tools: VmTools): Buffer {
  const entries: ArchiveEntry[] = [
    fileEntry('init', Buffer.from(INIT), 0o755),
    fileEntry('bin/busybox', readFileSync(tools.busybox), 0o755),
    ...moduleEntries(tools.modulesFolder),
    ...programEntries(process.execPath, 'bin/node'),
    ...treeEntries(join(repository, 'dist/src'), 'app/dist/src', (name) => /\.c?js$/.test(name)),
    ...treeEntries(join(repository, 'dist/scripts/vm'), 'app/dist/scripts/vm', isPlainScript),
    ...treeEntries(join(repository, 'bin'), 'app/bin', () => true),
    ...treeEntries(join(repository, 'references'), 'app/references', (name) =>
      name.endsWith('.json'),
    ),
    fileEntry('app/package.json', readFileSync(join(repository, 'package.json'))),
    ...koffiEntries(repository),
  ];
  return cpioArchive(withParents(entries));
}

function isPlainScript(name: string): boolean {
  return name.endsWith('.js') && !name.endsWith('.test.js');
}

function moduleEntries(folder: string): ArchiveEntry[] {
  const present = MODULES.filter((path) => existsSync(join(folder, path)));
  const modules = new Map(
    present.map((path) => [basename(path, '.ko'), readFileSync(join(folder, path))]),
  );
  const dependencies = new Map([...modules].map(([name, bytes]) => [name, dependenciesOf(bytes)]));
  const order = loadingOrder(dependencies).map((name) => `${name}.ko\n`);
  return [
    fileEntry('modules/order', Buffer.from(order.join(''))),
    ...[...modules].map(([name, bytes]) => fileEntry(`modules/${name}.ko`, bytes)),
  ];
}

/** A program and the shared libraries that the loader finds for it here. */
function programEntries(program: string, path: string): ArchiveEntry[] {
  const listing = execFileSync('ldd', [program], { encoding: 'utf8' });
  const libraries = [...listing.matchAll(/(\/\S+) \(0x/g)].map((match) => match[1] ?? '');
  return [
    fileEntry(path, readFileSync(program), 0o755),
    ...libraries.map((library) =>
      fileEntry(library.slice(1), readFileSync(realpathSync(library)), 0o755),
    ),
    // Where bin and lib are links of /usr, programs may name either.
    linkEntry('usr/bin', '/bin'),
  ];
}

function koffiEntries(repository: string): ArchiveEntry[] {
  const folders = ['koffi', '@koromix/koffi-linux-x64'];
  return folders.flatMap((folder) =>
    treeEntries(
      join(repository, 'node_modules', folder),
      `app/node_modules/${folder}`,
      (name) => /\.(c?js|json|node)$/.test(name) && !/musl|vendor|doc\//.test(name),
    ),
  );
}

function treeEntries(
  folder: string,
  target: string,
  isWanted: (relative: string) => boolean,
): ArchiveEntry[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter(isWanted)
    .map((name) =>
      fileEntry(join(target, dirname(name), basename(name)), readFileSync(join(folder, name))),
    );
}
