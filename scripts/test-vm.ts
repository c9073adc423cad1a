// `npm run test:vm`: binds real interrupts, inside a virtual machine. Eight CPUs on two nodes, four
// virtio NICs with four queue pairs each; looks where lanes and their memory lie, runs show, plan,
// apply, verify, rollback there, and an experiment (scripts/vm/guest.ts). `-- placement`: lanes
// alone. Needs Debian's package archive for the first run; no KVM, no root.

import { spawn } from 'node:child_process';
import { accessSync, constants, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildInitramfs } from './vm/initramfs.js';
import { fetchTools, type VmTools } from './vm/packages.js';
import { readWords, refuse } from './words.js';

const NIC_COUNT = 4;
const QUEUE_PAIRS = 4;
const BOOT_TIMEOUT_MS = 900_000;

const repository = fileURLToPath(new URL('../..', import.meta.url));
const cache = join(repository, '.cache/vm');

// The taps live in a network namespace of their own, so that nothing of this host is touched. The
// first one has the other end of the guest's benchmark, which goes with QEMU: it is the first
// process of its process namespace.
const TAP_SCRIPT = `#!/bin/sh
ip link set "$1" up
ip addr add "10.77.\${1#tap}.1/24" dev "$1"
[ "$1" = tap0 ] || exit 0
unset LD_LIBRARY_PATH
export NIXL_TCPX_SESSION_HANDSHAKE_TIMEOUT_MS=60000
{ sleep 1; exec ${process.execPath} ${repository}bin/tcpx.js bench server \\
  --port 20130 --nics tap0 --trust network; } </dev/null >${join(cache, 'server.log')} 2>&1 &
`;

const { positionals } = readWords('npm run test:vm [-- placement]', { allowPositionals: true });
const unknown = positionals.find((word) => word !== 'placement');
if (unknown !== undefined) refuse(`no part ${unknown}; there is: placement`);
/** A word for the guest, on its kernel's command line. */
const wanted = positionals.length > 0 ? 'tcpx.placement' : '';

process.exitCode = await main();

async function main(): Promise<number> {
  mkdirSync(cache, { recursive: true });
  const tools = fetchTools(cache);
  const initramfs = join(cache, 'initramfs.cpio');
  writeFileSync(initramfs, buildInitramfs(repository, tools));
  writeFileSync(join(cache, 'tap-up.sh'), TAP_SCRIPT, { mode: 0o755 });
  const hasTap = canOpenTap();
  if (!hasTap) say('no access to /dev/net/tun: NICs get one queue pair');
  const result = await boot(tools, initramfs, hasTap);
  say(result === 0 ? 'test:vm: pass' : `test:vm: FAIL (${result})`);
  return result === 0 ? 0 : 1;
}

function canOpenTap(): boolean {
  try {
    accessSync('/dev/net/tun', constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function boot(tools: VmTools, initramfs: string, hasTap: boolean): Promise<number> {
  const words = [tools.qemu, ...tools.qemuArguments, ...machineArguments(tools, initramfs, hasTap)];
  const isolate = ['--user', '--map-root-user', '--net', '--pid', '--kill-child'];
  const [program, ...rest] = hasTap ? ['unshare', ...isolate, ...words] : words;
  const startedMs = performance.now();
  return new Promise((resolve) => {
    const child = spawn(program ?? '', rest, {
      env: { ...process.env, ...tools.qemuEnvironment },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), BOOT_TIMEOUT_MS);
    let text = '';
    child.stdout.setEncoding('utf8');
    child.stdout.on('data', (part: string) => {
      text += part;
      process.stderr.write(part);
    });
    child.on('close', () => {
      clearTimeout(timer);
      const status = /VM-EXIT (\d+)/.exec(text)?.[1];
      say(`machine ran ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
      resolve(status === undefined ? -1 : Number(status));
    });
  });
}

function machineArguments(tools: VmTools, initramfs: string, hasTap: boolean): readonly string[] {
  return [
    ...['-machine', 'q35', '-cpu', 'Nehalem', '-m', '2048', '-nographic', '-no-reboot'],
    ...['-accel', 'tcg,thread=multi'],
    ...['-smp', '8,sockets=2,cores=2,threads=2'],
    ...['-object', 'memory-backend-ram,id=m0,size=1024M'],
    ...['-object', 'memory-backend-ram,id=m1,size=1024M'],
    ...['-numa', 'node,nodeid=0,cpus=0-3,memdev=m0', '-numa', 'node,nodeid=1,cpus=4-7,memdev=m1'],
    ...['-device', 'pxb-pcie,id=node0,bus_nr=64,numa_node=0,bus=pcie.0'],
    ...['-device', 'pxb-pcie,id=node1,bus_nr=128,numa_node=1,bus=pcie.0'],
    ...Array.from({ length: NIC_COUNT }, (_, index) => nicArguments(index, hasTap)).flat(),
    ...['-kernel', tools.kernelImage, '-initrd', initramfs],
    ...['-append', `console=ttyS0 quiet panic=-1 mitigations=off ${wanted}`],
  ];
}

/** NICs 0 and 1 hang below node 0, NICs 2 and 3 below node 1. */
function nicArguments(index: number, hasTap: boolean): string[] {
  const backend = hasTap
    ? `tap,id=net${index},ifname=tap${index},script=${join(cache, 'tap-up.sh')},downscript=no,` +
      `queues=${QUEUE_PAIRS}`
    : `user,id=net${index}`;
  const vectors = 2 * QUEUE_PAIRS + 2;
  const port = `port${index}`;
  const bus = index < NIC_COUNT / 2 ? 'node0' : 'node1';
  return [
    ...['-netdev', backend],
    ...['-device', `pcie-root-port,id=${port},bus=${bus},chassis=${index + 1}`],
    '-device',
    `virtio-net-pci,netdev=net${index},bus=${port},mq=${hasTap ? 'on' : 'off'},` +
      `vectors=${vectors},mac=52:54:00:00:00:0${index + 1},romfile=`,
  ];
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
