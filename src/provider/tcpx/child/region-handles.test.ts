import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TcpxError } from '../../../base/errors.js';
import { POINTER_CUDA, POINTER_HOST } from '../../../ffi/nccl-net/net-plugin.js';
import type { HostRegion } from '../host-region.js';
import type { GuardedPlugin } from './guarded-plugin.js';
import { RegionHandles, registeredRange } from './region-handles.js';

const region = { addr: 0x7000_1200, bytes: 5000 } as HostRegion;

test('region handles: device memory in whole pages, address and length', () => {
  assert.deepEqual(registeredRange(region, POINTER_CUDA), { addr: 0x7000_1000, bytes: 8192 });
  assert.deepEqual(registeredRange({ addr: 4096, bytes: 4096 }, POINTER_CUDA), {
    addr: 4096,
    bytes: 4096,
  });
  assert.deepEqual(registeredRange(region, POINTER_HOST), { addr: 0x7000_1200, bytes: 5000 });
});

function handles(register: () => number) {
  const calls: string[] = [];
  const plugin = {
    register: () => {
      calls.push('register');
      return register();
    },
    deregister: () => calls.push('deregister'),
  } as unknown as GuardedPlugin;
  const onRefused = (reason: string): number => calls.push(reason);
  return { calls, made: new RegionHandles({ plugin, channel: 0, comm: 1, onRefused }) };
}

test('region handles: registered once, deregistered once', () => {
  const { calls, made } = handles(() => 77);
  assert.equal(made.handleOf(3, region, POINTER_CUDA), 77);
  assert.equal(made.handleOf(3, region, POINTER_CUDA), 77);
  made.forget(3);
  made.close();
  assert.deepEqual(calls, ['register', 'deregister']);
});

test('region handles: a refusal is asked for once, told once, and deregistered never', () => {
  const { calls, made } = handles(() => {
    throw new TcpxError('ERR_NCCLNET_CALL', 'refused');
  });
  assert.equal(made.handleOf(3, region, POINTER_CUDA), undefined);
  assert.equal(made.handleOf(3, region, POINTER_CUDA), undefined);
  assert.equal(made.handleOf(4, region, POINTER_CUDA), undefined);
  made.forget(3);
  made.close();
  assert.deepEqual(calls, ['register', 'refused', 'register']);
});

test('region handles: our own mistakes are not taken for a refusal', () => {
  const { made } = handles(() => {
    throw new TcpxError('ERR_USAGE_STATE', 'a mistake');
  });
  assert.throws(() => made.handleOf(1, region, POINTER_CUDA), { code: 'ERR_USAGE_STATE' });
});
