// Random hosts, good and bad, with random files missing: what a rule says of the rest must hold
// however the missing files are filled in. So no rule judges a value that was not there.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTcpxError } from '../../src/base/errors.js';
import { type Random, seededRandom } from '../../src/base/random.js';
import { collectFacts } from '../../src/diag/collect.js';
import { diagnose } from '../../src/diag/doctor.js';
import type { RuleStatus } from '../../src/diag/rule.js';
import { A3_HIGH_RX_BINDINGS } from '../../src/host/irq/policy.js';
import type { FileTree, TreeEntry } from '../../src/host/read/file-tree.js';
import { buildHostTree } from '../support/host-tree.js';
import { openFixtureTree } from '../support/open-fixture.js';
import { SMALL_HOST_NICS, smallHostSpec } from '../support/small-host.js';

const ROUNDS = 400;
const TREE = buildHostTree(smallHostSpec());

/** Files that rules look at, each with texts of good, bad and odd hosts. */
const VARIANTS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/\/operstate$/, ['up', 'up', 'down', 'unknown']],
  // The kernel never says `up` without a carrier: the two are not independent.
  [/\/carrier$/, ['1']],
  [/\/mtu$/, ['8244', '8244', '1400']],
  [/\/speed$/, ['200000', '10000', '-1']],
  [/\/threaded$/, ['0', '0', '1']],
  [/\/rps_cpus$/, ['0', '0', '0', 'f']],
  [/\/statistics\/[rt]x_errors$/, ['0', '0', '5']],
  // A device's node and its local CPUs agree, or the platform tells no node.
  [/pci0000:00.*\/numa_node$/, ['0', '0', '-1']],
  [/pci0000:80.*\/numa_node$/, ['1', '1', '-1']],
  [/\/effective_affinity_list$/, ['0', '1', '2', '3']],
  [/\/smp_affinity_list$/, ['0', '2', '0-7']],
  [/\/thread_siblings_list$/, ['0,4', '1,5', '2,6', '3,7']],
  [/node\/online$/, ['0-1', '0']],
  [/kernel\/osrelease$/, ['6.6.0-tcpx', '4.19.0', 'odd']],
  [/^\/proc\/cmdline$/, ['quiet', 'iommu=pt', 'irqaffinity=0-3']],
  [/^\/proc\/1\/comm$/, ['systemd', 'irqbalance', 'chronyd']],
  [/^\/proc\/1\/cmdline$/, ['/x\0', '/x\0--banmod=gve\0']],
  [/core\/optmem_max$/, ['131072', '20480']],
  [/ipv4\/tcp_[rw]mem$/, ['4096 1048576 67108864', '4096 1048576 8388608', '4096 16384 65536']],
  [/tcp_congestion_control$/, ['cubic', 'bbr']],
  [/slow_start_after_idle$/, ['0', '1']],
  [/net\/snmp$/, ['Tcp: OutSegs RetransSegs\nTcp: 100 0', 'Tcp: OutSegs RetransSegs\nTcp: 100 9']],
  [/softnet_stat$/, ['0001 0000 0 0 0 0 0 0 0 0 0 0 0', '0001 0007 0 0 0 0 0 0 0 0 0 0 0']],
  [/self\/limits$/, [limitsText('unlimited', '1048576'), limitsText('65536', '1024')]],
  [/gpus\/[^/]+\/information$/, ['Model: x', '']],
  [/nvidia\/version$/, ['NVRM version: NVIDIA x 580.65.06  Release', 'odd']],
  [/ethtool\/eth\d\.json$/, [true, false].flatMap((split) => [0, 9].map((n) => answers(split, n)))],
  [/addresses\.json$/, [addressesText('10.0.0.2'), addressesText('10.9.9.9')]],
];

function limitsText(memlock: string, files: string): string {
  const line = (name: string, value: string) => `${name.padEnd(26)}${value}   ${value}   units`;
  return `${line('Max open files', files)}\n${line('Max locked memory', memlock)}`;
}

function answers(isSplit: boolean, count: number): string {
  return JSON.stringify({
    features: { 'rx-ntuple-filter': { isActive: isSplit, isFixed: false } },
    privateFlags: { 'enable-strict-header-split': isSplit },
    statistics: { rx_devmem_pkts: count, reset_cnt: 9 - count },
    gaps: [],
  });
}

function addressesText(address: string): string {
  const own = { family: 4, address, prefixLength: 32 };
  return JSON.stringify(SMALL_HOST_NICS.map((name) => ({ name, addresses: [own] })));
}

/** The host with each file that matters in one of its forms. */
function randomTree(random: Random): FileTree {
  const tree = new Map<string, TreeEntry>(TREE);
  for (const [path, entry] of TREE) {
    if (entry.kind !== 'file') continue;
    const texts = VARIANTS.find(([pattern]) => pattern.test(path))?.[1];
    if (texts === undefined) continue;
    tree.set(path, { ...entry, text: `${texts[random.nextBetween(0, texts.length - 1)] ?? ''}\n` });
  }
  return tree;
}

function randomHoles(random: Random): ReadonlySet<string> {
  const probability = random.nextFloat() ** 2 / 2;
  // The names in `msi_irqs` are a list: the kernel shows all of it or none.
  const paths = [...TREE].flatMap(([path, { kind }]) =>
    kind === 'file' && !path.includes('/msi_irqs/') ? [path] : [],
  );
  return new Set(paths.filter(() => random.nextChance(probability)));
}

type Statuses = ReadonlyMap<string, { readonly status: RuleStatus; readonly text: string }>;

/** What each rule says; undefined where the host is refused as a whole. */
async function judge(tree: FileTree): Promise<Statuses | undefined> {
  try {
    const facts = await collectFacts({
      source: openFixtureTree(tree),
      provider: 'tcpx',
      nics: { named: SMALL_HOST_NICS.join(','), listed: '', control: '' },
      environment: {
        NCCL_GPUDIRECTTCPX_TX_BINDINGS: 'eth1:0-1;eth2:2-3',
        NCCL_GPUDIRECTTCPX_RX_BINDINGS: A3_HIGH_RX_BINDINGS.split(';')[0] ?? '',
      },
      referenceFolder: undefined,
      stateFolder: '/nowhere',
      peers: ['10.0.0.2'],
      socketBudget: 8,
    });
    const { findings } = diagnose(facts);
    return new Map(
      findings.map(({ id, status, evidence }) => [id, { status, text: evidence.join('; ') }]),
    );
  } catch (error) {
    if (isTcpxError(error)) return undefined;
    throw error;
  }
}

/** What may be said once the missing files are there, by what was said without them. */
const MAY_BECOME: Readonly<Record<RuleStatus, readonly RuleStatus[]>> = {
  pass: ['pass', 'skip'],
  warn: ['warn', 'fail', 'skip'],
  fail: ['fail', 'skip'],
  skip: ['pass', 'warn', 'fail', 'skip'],
};

for (const seed of [1, 2, 3, 4]) {
  test(`random holes: no rule judges what is not there (seed ${seed})`, async (t) => {
    const random = seededRandom(seed);
    let judged = 0;
    for (let round = 0; round < ROUNDS / 4; round++) {
      const holes = randomHoles(random);
      const other = randomTree(random);
      const whole = randomTree(random);
      const partial = new Map([...whole].filter(([path]) => !holes.has(path)));
      const filled = new Map(
        [...whole].map(([path, entry]) => [
          path,
          holes.has(path) ? (other.get(path) ?? entry) : entry,
        ]),
      );
      const early = await judge(partial);
      const late = await judge(filled);
      if (early === undefined || late === undefined) continue;
      for (const [id, { status, text }] of early) {
        const then = late.get(id);
        assert.ok(then !== undefined);
        // A warning of what may be is none that it is.
        const isSound = MAY_BECOME[status].includes(then.status) || / may /.test(text);
        const what = `${id} said ${status} (${text}), then ${then.status} (${then.text})`;
        assert.ok(isSound, `round ${round}: ${what}; missing ${[...holes].join(' ')}`);
        if (status !== 'skip') judged++;
      }
    }
    t.diagnostic(`${judged} judgements`);
    assert.ok(judged > ROUNDS, String(judged));
  });
}
