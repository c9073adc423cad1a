// What must hold on a machine without a GPU: no crash, an error that names what was probed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTcpxError } from '../../base/errors.js';
import { canonicalPciAddress } from './device.js';
import { gpuAbsence, openCudaDriver } from './driver.js';
import { addressOf, FixedMemory, textAt, viewMemory } from './fixed-memory.js';
import { PreparedLaunch } from './module.js';

test('cuda driver: an absent library is a CapabilityError that names it', () => {
  assert.throws(
    () => openCudaDriver('libcuda-absent.so.1'),
    (error: unknown) =>
      isTcpxError(error, 'ERR_CAP_GPU') &&
      error.name === 'CapabilityError' &&
      error.facts['library'] === 'libcuda-absent.so.1',
  );
});

test('cuda driver: a library without the functions is a CapabilityError that names some', () => {
  assert.throws(
    () => openCudaDriver('libc.so.6'),
    (error: unknown) => isTcpxError(error, 'ERR_CAP_GPU') && /lacks cuInit/.test(error.message),
  );
});

test('cuda driver: absence is a sentence, not an exception', () => {
  assert.match(gpuAbsence('libcuda-absent.so.1') ?? '', /^open libcuda-absent\.so\.1: /);
});

test('cuda device: PCI addresses come in one spelling', () => {
  assert.equal(canonicalPciAddress('3B:00.0'), '0000:3b:00.0');
  assert.equal(canonicalPciAddress('0000:3b:00.0'), '0000:3b:00.0');
  assert.equal(canonicalPciAddress('00000001:0A:1f.3'), '0001:0a:1f.3');
  assert.equal(canonicalPciAddress('0001:0a:1f'), '0001:0a:1f.0');
  assert.equal(canonicalPciAddress('gpu0'), undefined);
});

test('fixed memory: values written are what the memory holds, in little-endian order', () => {
  const memory = new FixedMemory(32);
  memory.setUint64(8, 0x7f12_3456_789a);
  memory.setUint32(4, 0xfffffffe);
  assert.equal(memory.uint64(8), 0x7f12_3456_789a);
  assert.equal(memory.int32(4), -2);
  const view = new DataView(viewMemory(memory.addr, 32));
  assert.equal(view.getBigUint64(8, true), 0x7f12_3456_789an);
  memory.setBytes(16, Buffer.from('tcpx\0rest'));
  assert.equal(memory.text(16, 16), 'tcpx');
  assert.equal(textAt(memory.addr + 16), 'tcpx');
  memory.free();
});

test('fixed memory: a value beyond 2^53 is refused, not rounded', () => {
  const memory = new FixedMemory(8);
  memory.setUint32(4, 0xffffffff);
  assert.throws(() => memory.uint64(0), /fits a Number/);
  memory.free();
});

test('prepared launch: the pointer array points at the parameter structure', () => {
  const prepared = new PreparedLaunch(1, 48);
  const pointers = new BigUint64Array(viewMemory(prepared.parametersAddr, 8));
  assert.equal(Number(pointers[0]), prepared.parameters.addr);
  prepared.free();
});

test('address of bytes: a view into a buffer gives the address of its first byte', () => {
  const whole = new Uint8Array(new ArrayBuffer(64));
  assert.equal(addressOf(whole.subarray(16)) - addressOf(whole), 16);
});
