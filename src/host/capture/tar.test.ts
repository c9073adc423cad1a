import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { isTcpxError } from '../../base/errors.js';
import type { FileTree, TreeEntry } from '../read/file-tree.js';
import { decodeTar, encodeTar } from './tar.js';

const LONG = `/sys/devices/${'pci0000:00/0000:00:10.0/'.repeat(14)}queues/rx-15/rps_flow_cnt`;
const SAMPLE: FileTree = new Map<string, TreeEntry>([
  ['/proc/interrupts', { kind: 'file', text: 'CPU0\n'.repeat(300), mode: 0o444 }],
  ['/proc/irq/1/smp_affinity', { kind: 'file', text: 'ff\n', mode: 0o644 }],
  ['/empty', { kind: 'file', text: '', mode: 0o444 }],
  ['/folder', { kind: 'folder' }],
  ['/link', { kind: 'link', target: '../proc/interrupts' }],
  [LONG, { kind: 'file', text: 'long ünïcode\n', mode: 0o444 }],
  ['/far', { kind: 'link', target: `..${LONG}` }],
]);

test('tar: what is written is read back, long names and links too', () => {
  assert.deepEqual(new Map(decodeTar(encodeTar(SAMPLE, 0))), SAMPLE);
});

test('tar: any tree survives the round trip', () => {
  const name = fc.stringMatching(/^[a-zA-Z0-9é:_-]{1,40}$/);
  const path = fc
    .array(name, { minLength: 1, maxLength: 12 })
    .map((parts) => `/${parts.join('/')}`);
  const entry: fc.Arbitrary<TreeEntry> = fc.oneof(
    fc.string().map((text) => ({ kind: 'file' as const, text, mode: 0o444 })),
    path.map((target) => ({ kind: 'link' as const, target })),
    fc.constant({ kind: 'folder' as const }),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(path, entry), { maxLength: 20 }), (pairs) => {
      const tree = new Map(pairs);
      assert.deepEqual(new Map(decodeTar(encodeTar(tree, 1_700_000_000))), tree);
    }),
    { numRuns: 50 },
  );
});

test('tar: a damaged archive is refused, a cut one too', () => {
  const bytes = encodeTar(SAMPLE, 0);
  const damaged = Buffer.from(bytes);
  damaged[4] = (damaged[4] ?? 0) ^ 0xff;
  assert.throws(
    () => decodeTar(damaged),
    (error) => isTcpxError(error, 'ERR_USAGE_ARGUMENT'),
  );
  assert.throws(
    () => decodeTar(bytes.subarray(0, 1024)),
    (error) => isTcpxError(error, 'ERR_USAGE_ARGUMENT'),
  );
});

test('tar: names cannot climb out of the tree', () => {
  const tree = new Map<string, TreeEntry>([['/../../etc/x', { kind: 'file', text: 'a' }]]);
  assert.deepEqual([...decodeTar(encodeTar(tree, 0)).keys()], ['/etc/x']);
});

test('tar: the tar program and we read each other', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-tar-'));
  try {
    if (spawnSync('tar', ['--version']).status !== 0) {
      t.skip('needs the tar program');
      return;
    }
    writeFileSync(join(folder, 'ours.tar'), encodeTar(SAMPLE, 0));
    const unpacked = spawnSync('tar', ['xf', 'ours.tar'], { cwd: folder, encoding: 'utf8' });
    assert.equal(unpacked.status, 0, unpacked.stderr);
    assert.equal(readFileSync(join(folder, LONG), 'utf8'), 'long ünïcode\n');
    assert.equal(readlinkSync(join(folder, 'far')), `..${LONG}`);
    for (const format of ['gnu', 'pax', 'ustar']) {
      const path = format === 'ustar' ? ['proc', 'link'] : ['proc', 'sys', 'link', 'far'];
      const packed = spawnSync('tar', ['cf', 'theirs.tar', `--format=${format}`, ...path], {
        cwd: folder,
      });
      assert.equal(packed.status, 0);
      const tree = decodeTar(readFileSync(join(folder, 'theirs.tar')));
      assert.equal(textOf(tree, '/proc/irq/1/smp_affinity'), 'ff\n', format);
      if (format !== 'ustar') assert.equal(textOf(tree, LONG), 'long ünïcode\n', format);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

function textOf(tree: FileTree, path: string): string | undefined {
  const entry = tree.get(path);
  return entry?.kind === 'file' ? entry.text : undefined;
}
