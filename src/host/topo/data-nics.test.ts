import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a3HighSpec } from '../../../test/support/a3-high-host.js';
import type { HostSpec } from '../../../test/support/host-spec.js';
import { offlineCpuHost, virtioHost } from '../../../test/support/odd-hosts.js';
import { openFixture } from '../../../test/support/open-fixture.js';
import { readHost } from '../read/read-host.js';
import { type DataNicWish, dataNics, gpusBehindNics } from './data-nics.js';

const NOTHING: DataNicWish = { named: '', listed: '', control: '' };
const a3High = readHost(openFixture(a3HighSpec()));

function chosen(wish: Partial<DataNicWish>, spec?: HostSpec): string {
  const model = spec === undefined ? a3High : readHost(openFixture(spec));
  const { nics, source } = dataNics(model, { ...NOTHING, ...wish });
  return `${source} ${nics.map(({ name }) => name).join(',')}`;
}

test('data NICs: those of the GPUs, without a word; the control NIC is none', () => {
  assert.equal(chosen({}), 'gpus eth1,eth2,eth3,eth4');
  assert.equal(chosen({ control: 'eth0' }), 'gpus eth1,eth2,eth3,eth4');
});

test('data NICs: a flag wins, in its order; then the plugin’s list, by its grammar', () => {
  const listed = 'eth1,eth2';
  assert.equal(chosen({ named: 'eth3,eth2', listed }), 'flag eth3,eth2');
  assert.equal(chosen({ listed }), 'environment eth1,eth2');
  assert.equal(chosen({ listed: 'eth', control: 'eth0' }), 'environment eth1,eth2,eth3,eth4');
  assert.equal(chosen({ listed: '^eth1' }), 'environment eth0,eth2,eth3,eth4');
  assert.equal(chosen({ listed: '=eth4' }), 'environment eth4');
});

test('data NICs: the control NIC carries data where a flag says so', () => {
  assert.equal(chosen({ named: 'eth0', control: 'eth0' }), 'flag eth0');
  assert.equal(chosen({ named: '^eth1', control: 'eth0' }), 'flag eth2,eth3,eth4');
});

test('data NICs: without a GPU all physical ones, the only one even as control', () => {
  assert.equal(chosen({}, virtioHost()).startsWith('all '), true);
  assert.equal(chosen({ control: 'eth0' }, offlineCpuHost()), 'all eth0');
});

test('data NICs: a name that is not there is said', () => {
  const { missing } = dataNics(a3High, { ...NOTHING, named: 'eth1,eth9' });
  assert.deepEqual(missing, ['eth9']);
});

test('GPUs behind NICs: two behind each of A3-high, none behind the control NIC', () => {
  assert.deepEqual(
    [...(gpusBehindNics(a3High, '') ?? [])],
    [
      ['eth0', []],
      ['eth1', [0, 1]],
      ['eth2', [2, 3]],
      ['eth3', [4, 5]],
      ['eth4', [6, 7]],
    ],
  );
});

test('GPUs behind NICs: as CUDA numbers what it shows of them', () => {
  const visible = ['0000:8b:00.0', '0000:04:00.0'];
  const behind = gpusBehindNics(a3High, '', visible);
  assert.deepEqual(behind?.get('eth4'), [0]);
  assert.deepEqual(behind.get('eth1'), [1]);
  assert.deepEqual(behind.get('eth2'), []);
});

test('GPUs behind NICs: NICs at the same distance share a GPU; no GPU, no word', () => {
  const spec = a3HighSpec();
  const nics = spec.nics
    .filter(({ name }) => name === 'eth1' || name === 'eth2')
    .map((nic) => ({ ...nic, parent: 'pci0000:00' }));
  const behind = gpusBehindNics(readHost(openFixture({ ...spec, nics })), '');
  assert.deepEqual(behind?.get('eth1'), behind?.get('eth2'));
  assert.equal(gpusBehindNics(readHost(openFixture(virtioHost())), ''), undefined);
});
