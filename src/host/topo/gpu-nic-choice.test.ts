import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a3HighSpec } from '../../../test/support/a3-high-host.js';
import type { HostSpec } from '../../../test/support/host-spec.js';
import { virtioHost } from '../../../test/support/odd-hosts.js';
import { openFixture } from '../../../test/support/open-fixture.js';
import { readHost } from '../read/read-host.js';
import { chooseNics } from './gpu-nic-choice.js';

const choicesOf = (spec: HostSpec) => chooseNics(readHost(openFixture(spec)));

test('choice: every A3-high GPU takes the NIC behind its switch', () => {
  const choices = choicesOf(a3HighSpec());
  assert.deepEqual(
    choices.map(({ nic, distance }) => [nic, distance]),
    ['eth1', 'eth1', 'eth2', 'eth2', 'eth3', 'eth3', 'eth4', 'eth4'].map((nic) => [nic, 'PIX']),
  );
  assert.match(choices[0]?.reason ?? '', /PIX through 0000:02:00\.0/);
  assert.equal(choices[0]?.others.length, 4);
});

function withNics(change: (name: string) => object | undefined): HostSpec {
  const spec = a3HighSpec();
  const nics = spec.nics.flatMap((nic) => {
    const changed = change(nic.name);
    return changed === undefined ? [] : [{ ...nic, ...changed }];
  });
  return { ...spec, nics };
}

test('choice: equal distance is settled by node, before speed', () => {
  // One host bridge, two nodes behind it, as with sub-NUMA clusters; the far NIC is the faster.
  const spec = withNics((name) => {
    if (name === 'eth1') return { parent: 'pci0000:00', node: 1, speedMbps: 400_000 };
    return name === 'eth2' ? { parent: 'pci0000:00', node: 0 } : undefined;
  });
  const choice = choicesOf(spec)[0];
  assert.deepEqual([choice?.nic, choice?.distance], ['eth2', 'PHB']);
  assert.match(choice?.reason ?? '', /NUMA node decides/);
});

test('choice: then by speed, and an unknown speed loses', () => {
  const spec = withNics((name) => {
    if (name === 'eth0') return { speedMbps: -1 };
    if (name === 'eth1') return { parent: 'pci0000:00', speedMbps: 100_000 };
    return name === 'eth2' ? { parent: 'pci0000:00', speedMbps: 200_000 } : undefined;
  });
  const choice = choicesOf(spec)[0];
  assert.equal(choice?.nic, 'eth2');
  assert.match(choice.reason, /speed/);
});

test('choice: equal NICs share the GPUs', () => {
  const spec = withNics((name) =>
    name === 'eth1' || name === 'eth2' ? { parent: 'pci0000:00' } : undefined,
  );
  const nics = choicesOf(spec)
    .slice(0, 4)
    .map(({ nic }) => nic);
  assert.deepEqual(nics, ['eth1', 'eth2', 'eth1', 'eth2']);
});

test('choice: only the interfaces named for data take part', () => {
  const choices = chooseNics(readHost(openFixture(a3HighSpec())), ['eth2', 'eth3']);
  assert.deepEqual(
    choices.map(({ nic, distance }) => `${nic ?? 'none'} ${distance ?? ''}`),
    [
      'eth2 PHB',
      'eth2 PHB',
      'eth2 PIX',
      'eth2 PIX',
      'eth3 PIX',
      'eth3 PIX',
      'eth3 PHB',
      'eth3 PHB',
    ],
  );
});

test('choice: no NIC, no choice, and the reason', () => {
  const choices = choicesOf({ ...a3HighSpec(), nics: [] });
  assert.equal(choices[0]?.nic, undefined);
  assert.match(choices[0]?.reason ?? '', /no physical NIC/);
  assert.deepEqual(choicesOf(virtioHost()), []);
});
