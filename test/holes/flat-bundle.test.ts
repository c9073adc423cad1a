// A flat bundle with each of its files missing in turn, or holding an error message instead: the
// doctor judges as with the whole bundle or not at all, and topology and diff claim nothing else.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { environmentOfHost, isEnvironmentKnown } from '../../src/cli/environment-source.js';
import { collectFacts } from '../../src/diag/collect.js';
import { diagnose } from '../../src/diag/doctor.js';
import { diffNics } from '../../src/host/nic/nic-diff.js';
import { openSnapshotPair } from '../../src/host/nic/snapshot-pair.js';
import { openHost } from '../../src/host/read/open-host.js';
import { readHost } from '../../src/host/read/read-host.js';
import { describeTopology } from '../../src/host/topo/topology.js';
import { FLAT_NICS, type FlatBundle, flatBundle } from '../support/flat-bundle.js';
import { wrongClaims } from './wrong-claims.js';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tcpx-flat-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function* holed(): Generator<readonly [string, FlatBundle]> {
  for (const name of flatBundle().keys()) {
    const without = new Map(flatBundle());
    without.delete(name);
    yield [`without ${name}`, without];
    yield [`${name} is an error`, new Map([...flatBundle(), [name, 'sh: not found\n']])];
  }
}

/** What an action says of each holed bundle that differs from what it says of the whole one. */
async function wrongOf(
  action: () => unknown,
  isExcused: (holed: unknown) => boolean = () => false,
): Promise<readonly string[]> {
  const at = async (bundle: FlatBundle) => {
    rmSync(folder, { recursive: true });
    folder = mkdtempSync(join(tmpdir(), 'tcpx-flat-'));
    for (const [name, text] of bundle) writeFileSync(join(folder, name), text);
    return JSON.parse(JSON.stringify((await action()) ?? null)) as unknown;
  };
  const whole = await at(flatBundle());
  const found: string[] = [];
  for (const [hole, bundle] of holed()) {
    for (const claim of wrongClaims(whole, await at(bundle))) {
      if (isExcused(claim.holed)) continue;
      found.push(`${hole}: ${claim.path} became ${JSON.stringify(claim.holed)}`);
    }
  }
  return found;
}

test('flat holes: the doctor judges as before, or skips', async () => {
  const statuses = async () => {
    const source = openHost(folder);
    const facts = await collectFacts({
      source,
      provider: 'tcpx',
      nics: { named: '', listed: '', control: '' },
      environment: environmentOfHost(source.files),
      referenceFolder: undefined,
      stateFolder: join(folder, 'none'),
      peers: [],
      socketBudget: 8,
    });
    const known = isEnvironmentKnown(source.files);
    const { findings } = diagnose({ ...facts, isEnvironmentKnown: known });
    return Object.fromEntries(findings.map(({ id, status }) => [id, status]));
  };
  assert.deepEqual(await wrongOf(statuses, (status) => status === 'skip'), []);
});

test('flat holes: the topology claims nothing else', async () => {
  const topology = () => {
    const { host, interrupts, ...rest } = describeTopology(readHost(openHost(folder)), new Map());
    // Counts are those of the snapshot that is there, and stand for that moment.
    const counted = interrupts.map(({ cpu }) => ({ cpu }));
    return { ...rest, interrupts: counted, host: { ...host, root: '' } };
  };
  // Nodes and devices that no file names any more are fewer; those that are left must be right.
  const isFewer = (value: unknown) => Array.isArray(value) || value === 0;
  assert.deepEqual(await wrongOf(topology, isFewer), []);
});

test('flat holes: a diff of the two ends claims no other growth', async () => {
  const diff = () => {
    try {
      const { before, after } = openSnapshotPair(folder, folder);
      const diffs = diffNics(before.model, after.model, FLAT_NICS);
      return diffs.map(({ parts, ...nic }) => ({
        ...nic,
        parts: Object.fromEntries(
          parts.map((part) => [`${part.direction ?? 'irq'} ${part.queue ?? part.irq ?? ''}`, part]),
        ),
      }));
    } catch {
      return undefined;
    }
  };
  assert.deepEqual(await wrongOf(diff), []);
});
