// The transaction on real files of a generated A3-high tree, broken at chosen points: everything
// holds, or everything is as it was.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { a3HighSpec, a3HighTree } from '../../../test/support/a3-high-host.js';
import { readFixtureHost } from '../../../test/support/fixture-host.js';
import { buildHostTree } from '../../../test/support/host-tree.js';
import { removeTreeFolder, writeTreeFolder } from '../../../test/support/tree-folder.js';
import { type AffinityStore, affinityFolder } from './affinity-store.js';
import { applyPlan, isImmovable } from './apply.js';
import { coreMapOf } from './core-map.js';
import { type IrqJournal, openJournals, saveJournal } from './journal.js';
import { buildPlan } from './plan.js';
import { rollBack } from './rollback.js';
import { xpsFolder } from './xps-store.js';

const HOST = readFixtureHost(a3HighTree());
const PLAN = buildPlan(
  'split',
  {
    nics: HOST.nics.filter((nic) => nic.name !== 'eth0'),
    cores: coreMapOf(HOST),
    application: undefined,
    txBindings: [],
    rxBindings: [],
    adjustCores: 0,
    manualCores: [],
    channels: 1,
  },
  HOST,
);

let root = '';
let saved: IrqJournal[] = [];

beforeEach(() => {
  root = writeTreeFolder(a3HighTree());
  saved = [];
});
afterEach(() => removeTreeFolder(root));

const options = (skipRefused = false) => ({
  id: '1',
  bootId: 'boot-1',
  skipRefused,
  xps: xpsFolder(root),
  save: (journal: IrqJournal) => saved.push(journal),
});

function allAffinities(): Record<string, string> {
  const values: Record<string, string> = {};
  for (const irq of readdirSync(join(root, 'proc/irq'))) {
    const path = join(root, 'proc/irq', irq, 'smp_affinity_list');
    try {
      values[irq] = readFileSync(path, 'utf8').trim();
    } catch {
      continue;
    }
  }
  return values;
}

/** The folder store, with one action put before the n-th write of another value. */
function breakAt(writeIndex: number, action: (irq: number) => void): AffinityStore {
  const store = affinityFolder(root);
  let changes = 0;
  return {
    ...store,
    write(irq, list) {
      if (store.read(irq) !== list && changes++ === writeIndex) action(irq);
      store.write(irq, list);
    },
  };
}

function refuse(code: string): never {
  throw Object.assign(new Error(code), { code });
}

test('apply: writes every line, and the journal was saved before the first write', () => {
  const before = allAffinities();
  const store = affinityFolder(root);
  let atFirstSave: Record<string, string> | undefined;
  const report = applyPlan(PLAN, store, {
    ...options(),
    save(journal) {
      atFirstSave ??= allAffinities();
      saved.push(journal);
    },
  });
  assert.equal(report.outcome, 'applied');
  assert.deepEqual(atFirstSave, before);
  assert.deepEqual(
    saved.map(({ state }) => state),
    ['applying', 'applied'],
  );
  const after = allAffinities();
  for (const line of PLAN.lines) assert.equal(after[String(line.irq)], line.value);
  const planned = new Set(PLAN.lines.map((line) => String(line.irq)));
  for (const [irq, value] of Object.entries(before)) {
    if (!planned.has(irq)) assert.equal(after[irq], value);
  }
});

for (const errno of ['EROFS', 'EIO', 'EPERM', 'EINVAL']) {
  test(`apply: a file that turns ${errno} in mid-apply puts everything back`, () => {
    const before = allAffinities();
    const store = breakAt(50, () => refuse(errno));
    const report = applyPlan(PLAN, store, options());
    assert.equal(report.outcome, 'restored');
    assert.equal(report.failure?.errno, errno);
    assert.deepEqual(allAffinities(), before);
    assert.equal(saved.at(-1)?.state, 'restored');
  });
}

test('apply: a file that vanishes in mid-apply puts the others back and stays away', () => {
  const before = allAffinities();
  let gone = -1;
  const store = breakAt(50, (irq) => {
    gone = irq;
    rmSync(join(root, 'proc/irq', String(irq), 'smp_affinity_list'));
  });
  const report = applyPlan(PLAN, store, options());
  assert.equal(report.outcome, 'restored');
  assert.equal(report.failure?.errno, 'ENOENT');
  const others = Object.entries(before).filter(([irq]) => irq !== String(gone));
  assert.deepEqual(allAffinities(), Object.fromEntries(others));
});

test('apply: says so when a line cannot be put back', () => {
  let isBroken = false;
  const plain = affinityFolder(root);
  const store = breakAt(10, () => {
    isBroken = true;
    refuse('EIO');
  });
  const stuck: AffinityStore = {
    ...store,
    write: (irq, list) =>
      isBroken && irq === PLAN.lines[0]?.irq ? refuse('EIO') : store.write(irq, list),
  };
  const report = applyPlan(PLAN, stuck, options());
  assert.equal(report.outcome, 'restore-failed');
  assert.deepEqual(
    report.unrestored.map(({ irq }) => irq),
    [PLAN.lines[0]?.irq],
  );
  assert.equal(saved.at(-1)?.state, 'restore-failed');
  assert.equal(
    plain.read(PLAN.lines[1]!.irq),
    HOST.irqs.find((i) => i.irq === PLAN.lines[1]!.irq)?.requested?.join(','),
  );
});

test('apply: a kernel that ignores the value is noticed by reading back', () => {
  const store = affinityFolder(root);
  const deaf: AffinityStore = {
    ...store,
    write: (irq, list) => store.write(irq, irq === 140 ? store.read(irq) : list),
  };
  const report = applyPlan(PLAN, deaf, options());
  assert.equal(report.outcome, 'restored');
  assert.equal(report.failure?.errno, 'read-back');
});

test('apply: a journal that cannot be written leaves everything as it was', () => {
  const before = allAffinities();
  for (const failing of ['applying', 'applied']) {
    const save = ({ state }: IrqJournal) => {
      if (state === failing) refuse('ENOSPC');
    };
    const apply = () => applyPlan(PLAN, affinityFolder(root), { ...options(), save });
    assert.throws(apply, { code: 'ENOSPC' });
    assert.deepEqual(allAffinities(), before);
  }
});

for (const errno of ['EIO', 'EPERM']) {
  test(`apply: an interrupt that refuses with ${errno} stops the plan before any change`, () => {
    const before = allAffinities();
    const store = immovable(120, errno);
    const report = applyPlan(PLAN, store, options());
    assert.equal(report.outcome, 'refused');
    assert.deepEqual(
      report.refusals.map(({ irq }) => irq),
      [120],
    );
    assert.ok(report.refusals.every(isImmovable));
    assert.deepEqual(allAffinities(), before);
  });
}

test('apply: refusing interrupts can be left out on request', () => {
  const report = applyPlan(PLAN, immovable(120, 'EPERM'), options(true));
  assert.equal(report.outcome, 'applied');
  assert.equal(report.entries.length, PLAN.lines.length - 1);
  assert.equal(report.refusals.length, 1);
});

function immovable(refusing: number, errno: string): AffinityStore {
  const store = affinityFolder(root);
  const write: AffinityStore['write'] = (irq, list) =>
    irq === refusing ? refuse(errno) : store.write(irq, list);
  return { ...store, write };
}

test('apply: without permission nothing is written and no journal is made', () => {
  const before = allAffinities();
  const store: AffinityStore = { ...affinityFolder(root), probe: () => refuse('EACCES') };
  const report = applyPlan(PLAN, store, options());
  assert.equal(report.outcome, 'refused');
  assert.deepEqual(saved, []);
  assert.deepEqual(allAffinities(), before);
});

test('rollback: restores exactly, proves it, and a journal on disk survives the way', () => {
  const before = allAffinities();
  const folder = join(root, 'state');
  const save = (journal: IrqJournal) => saveJournal(folder, journal);
  applyPlan(PLAN, affinityFolder(root), { ...options(), save });
  assert.notDeepEqual(allAffinities(), before);
  const [journal] = openJournals(folder, 'boot-1');
  assert.deepEqual(openJournals(folder, 'boot-2'), []);
  const lines = rollBack(journal!, HOST.nics, affinityFolder(root));
  assert.ok(lines.every((line) => line.outcome === 'restored' && line.now === line.wanted));
  assert.deepEqual(allAffinities(), before);
  saveJournal(folder, { ...journal!, state: 'rolled-back' });
  assert.deepEqual(openJournals(folder, 'boot-1'), []);
});

test('rollback: finds a vector under its new number, and names values of somebody else', () => {
  applyPlan(PLAN, affinityFolder(root), options());
  const journal = saved.at(-1)!;
  affinityFolder(root).write(112, '3');
  // After a reset eth2 has eth1's old numbers and the other way round.
  const spec = a3HighSpec();
  const swapped = spec.nics.map((nic) => {
    const shift = nic.name === 'eth1' ? 33 : nic.name === 'eth2' ? -33 : 0;
    return { ...nic, vectors: nic.vectors.map((v) => ({ ...v, irq: v.irq + shift })) };
  });
  const nics = readFixtureHost(buildHostTree({ ...spec, nics: swapped })).nics;
  const lines = rollBack(journal, nics, affinityFolder(root));
  const first = lines.find((line) => line.nic === 'eth1' && line.queue === 'TX queue 0');
  assert.equal(first?.irq, 145);
  assert.match(first.text, /was IRQ 112/);
  const other = lines.find((line) => line.irq === 112);
  assert.match(other?.text ?? '', /somebody else had set 3/);
});

test('rollback: a vector that no longer exists is said to have vanished', () => {
  applyPlan(PLAN, affinityFolder(root), options());
  const nics = HOST.nics.filter((nic) => nic.name !== 'eth4');
  const lines = rollBack(saved.at(-1)!, nics, affinityFolder(root));
  const vanished = lines.filter((line) => line.outcome === 'vanished');
  assert.equal(vanished.length, 32);
  assert.ok(vanished.every((line) => line.nic === 'eth4'));
});
