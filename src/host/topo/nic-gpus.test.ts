import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gpuAbsence } from '../../ffi/cuda/driver.js';
import { readNicGpus } from './nic-gpus.js';

test('NIC GPUs: the emulator says which GPUs are behind its NICs', () => {
  const behind = readNicGpus({ TCPX_EMU_GPU_NICS: '0=eth1,1=eth1,2=eth2' }, '');
  assert.deepEqual(
    [...(behind ?? [])],
    [
      ['eth1', [0, 1]],
      ['eth2', [2]],
    ],
  );
});

test('NIC GPUs: emulated NICs without a map are in no tree', () => {
  assert.equal(readNicGpus({ TCPX_EMU_NICS: 'eth1,addr=127.0.0.11' }, ''), undefined);
});

test('NIC GPUs: of this machine, every GPU that CUDA shows or none', () => {
  const behind = readNicGpus({}, '');
  assert.equal(behind === undefined, gpuAbsence() !== undefined);
});
