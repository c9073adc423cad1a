import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { flatBundle } from '../../../test/support/flat-bundle.js';
import { writeRunBundle } from '../../../test/support/run-bundle.js';
import { isTcpxError } from '../../base/errors.js';
import { encodeTar } from '../../host/capture/tar.js';
import type { TreeEntry } from '../../host/read/file-tree.js';
import { analyze } from '../analyze.js';
import { runFacts } from '../run-facts.js';
import { irqOwners } from './irq-owners.js';
import { busiestCpus, cpuRoles, openRunView } from './run-view.js';
import { metricsText, socketFacts, summaryText } from './summary-text.js';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tcpx-view-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test('run view: interrupts, threads, queues and logs are joined', () => {
  writeRunBundle(folder, { cpuUse: { 1: 60, 0: 50 } });
  const view = openRunView(folder);
  assert.equal(view.hostname, 'small-fixture');
  assert.equal(view.begin.label, 'nccl');
  const eth1 = view.nics.find(({ nic }) => nic === 'eth1');
  assert.deepEqual(
    eth1?.irqCpus.map(({ cpu, count }) => [cpu, count]),
    [
      [1, 100_000],
      [5, 100_000],
    ],
  );
  assert.equal(eth1.rx.devmemPackets, 8_000_000);
  assert.deepEqual(busiestCpus(view, 2), [
    [1, 60],
    [0, 50],
  ]);
  assert.deepEqual(cpuRoles(view, 1), ['IRQ eth1']);
  assert.deepEqual(cpuRoles(view, 0), ['TX eth1']);
  assert.deepEqual(
    view.nicOfGpu,
    new Map([
      [0, 'eth1'],
      [1, 'eth2'],
    ]),
  );
});

test('summary: the figure, device memory by NIC, busiest CPUs and their sets', () => {
  writeRunBundle(folder, { cpuUse: { 1: 60 } });
  const view = openRunView(folder);
  const text = summaryText(view, [{ name: 'a.txt', bytes: 3 }]);
  assert.match(text, /^bandwidth +19\.66 GB\/s bus bandwidth at 64 MiB, 18\.7 GB\/s on average/m);
  assert.match(text, /^eth1 +0 .* 8000000 packets: pass$/m);
  assert.match(text, /^1 +60\.0 % +IRQ eth1$/m);
  assert.match(text, /^a\.txt +3$/m);
  const metrics = metricsText(view);
  assert.match(metrics, /^plugin +3\.1\.9$/m);
  assert.match(metrics, /^67108864 +10 +18\.75 +10\.49 +19\.66$/m);
  assert.match(metrics, /^eth1 +0$/m);
  assert.match(metrics, /^eth2 +1$/m);
});

test('owners: rows belong to the NIC of their PCI address, not to the next in line', () => {
  for (const [name, text] of flatBundle()) writeFileSync(join(folder, name), text);
  const variables = flatBundle().get('env_vars.txt') ?? '';
  writeFileSync(join(folder, 'env_vars.txt'), `${variables}NCCL_GPUDIRECTTCPX_CTRL_DEV=eth0\n`);
  const owners = irqOwners(openRunView(folder));
  const local = owners.filter(({ nic }) => nic !== 'eth0');
  assert.deepEqual(
    local.map(({ nic, isLocal }) => [nic, isLocal]),
    ['eth1', 'eth2', 'eth3', 'eth4'].map((nic) => [nic, true]),
  );
  const control = owners.find(({ nic }) => nic === 'eth0');
  assert.equal(control?.pciAddress, '0000:00:0c.0');
  assert.equal(control.irqs[0], 79);
  assert.equal(control.source, 'control variable');
});

test('owners: without a variable a NIC that is not described has no name', () => {
  for (const [name, text] of flatBundle()) writeFileSync(join(folder, name), text);
  const [stranger] = irqOwners(openRunView(folder)).filter(({ source }) => source === 'none');
  assert.equal(stranger?.pciAddress, '0000:00:0c.0');
  assert.equal(stranger.nic, undefined);
});

test('owners: disks and other devices of virtio are no NICs', () => {
  const { host } = runFacts(writtenBundle());
  const [nic] = host.nics;
  const [vector] = nic?.vectors ?? [];
  const [line] = host.irqs;
  assert.ok(nic !== undefined && vector !== undefined && line !== undefined);
  const row = (irq: number, pciAddress: string, action: string) => {
    return { ...line, irq, pciAddress, actions: [action] };
  };
  const virtio = {
    ...host,
    nics: [{ ...nic, vectors: [{ ...vector, name: 'virtio2-input.0' }] }],
    irqs: [
      ...[row(28, '0000:00:01.0', 'virtio0-config'), row(36, '0000:00:02.0', 'virtio1-req.0')],
      ...[row(34, '0000:00:05.0', 'virtio4-input'), row(50, '0000:00:06.0', 'virtio5-input.0')],
    ],
  };
  const strangers = irqOwners({ host: virtio, environment: {} }).slice(1);
  assert.deepEqual(
    strangers.map(({ pciAddress }) => pciAddress),
    ['0000:00:06.0'],
  );
});

function writtenBundle(): string {
  writeRunBundle(folder);
  return folder;
}

test('run view: a .tgz of a bundle is the bundle', () => {
  const entries = [...flatBundle()].map(([name, text]): [string, TreeEntry] => {
    return [`/../../nccl_1/${name}`, { kind: 'file', text }];
  });
  const path = join(folder, 'b.tgz');
  writeFileSync(path, gzipSync(encodeTar(new Map(entries), 0)));
  assert.equal(openRunView(path).nics.length, 4);
});

test('hostile bundle: links and pipes are not followed, giants not read', () => {
  writeRunBundle(folder);
  symlinkSync('/etc/passwd', join(folder, 'a.log'));
  symlinkSync('/proc/self/environ', join(folder, 'env_vars.txt'));
  execFileSync('mkfifo', [join(folder, 'pipe.log')]);
  writeFileSync(join(folder, 'big.log'), 'NCCL version 9.9.9\n');
  truncateSync(join(folder, 'big.log'), 80 * 1024 * 1024);
  const view = openRunView(folder);
  assert.equal(view.nccl.version, '2.18.5+cuda12.2');
  assert.ok(!('PATH' in view.environment));
  assert.ok(analyze(runFacts(folder)).ok);
});

test('hostile bundle: records of any shape are taken field by field', () => {
  const records = [
    '{"record":"begin","schema":"tcpx.diag-bundle/1","hostname":{"a":1},"command":"x","label":[]}',
    '{"record":"end","seconds":"NaN","status":{},"softnet":{"__proto__":5,"dropped":"9"},' +
      '"tcp":[],"threads":[null,3,{"tid":"x","cpus":{"1":1e999}}]}',
  ];
  writeFileSync(join(folder, 'bundle.jsonl'), records.join('\n'));
  const view = openRunView(folder);
  assert.equal(view.end.status, undefined);
  assert.deepEqual(view.end.softnet, {});
  assert.deepEqual(view.begin.command, []);
  assert.equal(view.end.threads.length, 3);
  summaryText(view, []);
  metricsText(view);
  analyze(runFacts(folder));
});

test('hostile bundle: what is none is refused by name', () => {
  for (const path of [join(folder, 'absent'), '/dev/null']) {
    assert.throws(
      () => openRunView(path),
      (error) => isTcpxError(error, 'ERR_USAGE_ARGUMENT'),
    );
  }
  writeFileSync(join(folder, 'x.tgz'), 'no archive');
  assert.throws(
    () => openRunView(join(folder, 'x.tgz')),
    (error) => isTcpxError(error, 'ERR_USAGE_ARGUMENT'),
  );
});

test('hostile bundle: random damage to any file never throws', () => {
  writeRunBundle(folder);
  const names = ['bundle.jsonl', 'nccl_test_output.log', 'irq_before.txt', 'nic_stats_after.txt'];
  let seed = 7;
  const random = () => (seed = (seed * 1103515245 + 12345) % 2 ** 31) / 2 ** 31;
  for (let round = 0; round < 40; round++) {
    for (const name of names) {
      const bytes = Buffer.from(
        Array.from({ length: Math.floor(random() * 2000) }, () => Math.floor(random() * 256)),
      );
      writeFileSync(join(folder, name), bytes);
    }
    analyze(runFacts(folder));
  }
});

test('summary: interfaces that carried the run, together, against its sockets', () => {
  const facts = (nics: Readonly<Record<string, Readonly<Record<string, number>>>>) => {
    const channels = [{ bytesAcked: 1_000_000 }, { bytesAcked: 1_000_000 }];
    const bench = { sizeBytes: 100_000, iterations: 20, channels, nics };
    const [, ...lines] = socketFacts({ bench } as unknown as Parameters<typeof socketFacts>[0]);
    return lines;
  };
  const link = { tx_bytes: 1_000_660, tx_packets: 10 };
  const stray = { tx_bytes: 244, tx_packets: 4 };
  assert.deepEqual(facts({ eth0: stray, eth1: link, eth2: link }), [
    'eth1 sent 1000000, eth2 sent 1000000, 2000000 in all, bytes less headers (0.00 %)',
  ]);
  const shared = { tx_bytes: 3_000_000, tx_packets: 0 };
  assert.deepEqual(facts({ lo: shared }), [
    'lo sent 3000000 bytes less headers (50.00 %, others sent too)',
  ]);
  assert.deepEqual(facts({ eth0: stray }), []);
});
