// GPU memory through the tcpx provider and the emulator, every byte verified on the device. Runs on
// a GPU, or on a stand-in for libcuda that tcpx-vram.test.ts puts in its place.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isTcpxError } from '../../src/base/errors.js';
import { fillPattern, verifyPattern } from '../../src/base/pattern.js';
import type { Receipt } from '../../src/provider/receipt.js';
import {
  closeProviders,
  openPair,
  railsOf,
  type Settings,
  type SideOptions,
  type TcpxPair,
} from './tcpx-pair.js';
import { type Kind, makePlace, wholeBlocks } from './vram-place.js';
import { VramWorld } from './vram-world.js';

const MIB = 1024 * 1024;
const CUDA: SideOptions = { plugin: { TCPX_EMU_MEMORY: 'cuda' } };

let world: VramWorld;
before(() => {
  world = new VramWorld();
});
after(async () => {
  await closeProviders();
  world.close();
});

/** Written there, read back, both verified; the receipts of the two. */
async function moveBoth(
  pair: TcpxPair,
  bytes: number,
  seed: number,
  kinds: readonly [Kind, Kind] = ['ipc', 'ipc'],
): Promise<readonly [Receipt, Receipt]> {
  const local = makePlace(world, pair.initiator, kinds[0], bytes);
  const remote = makePlace(world, pair.target, kinds[1], bytes);
  const blocks = wholeBlocks(local, remote);
  local.fill(seed);
  remote.fill(seed + 100);
  const written = await pair.session.write(blocks).done;
  assert.equal(remote.mismatches(seed), 0, `${bytes} bytes written`);
  assert.equal(local.mismatches(seed), 0, 'the source is as it was');
  remote.fill(seed + 1);
  const read = await pair.session.read(blocks).done;
  assert.equal(local.mismatches(seed + 1), 0, `${bytes} bytes read`);
  await local.release();
  await remote.release();
  return [written, read];
}

async function withPair(side: SideOptions, use: (pair: TcpxPair) => Promise<void>): Promise<void> {
  const plugin = { ...CUDA.plugin, ...side.plugin };
  const pair = await openPair({ ...side, plugin });
  try {
    await use(pair);
    const { pages, freePages } = await railsOf(pair.target).pages();
    assert.ok(pages > 0);
    assert.equal(freePages, pages, 'no page of the bounce buffer is lost');
  } finally {
    await pair.close();
  }
}

// eslint-disable-next-line max-lines-per-function -- a list of tests
describe('tcpx vram: bytes arrive as sent, written and read', () => {
  test('tcpx vram: 1 byte and up over one NIC', async () => {
    const edges = [1, 4095, 4096, 4097, 524_287, 524_288, 524_289, 3 * MIB + 5, 16 * MIB];
    const sizes = world.isReal ? [...edges, 64 * MIB + 7, 1024 * MIB] : edges;
    await withPair({}, async (pair) => {
      for (const [index, bytes] of sizes.entries()) {
        const [written] = await moveBoth(pair, bytes, 2 * index + 1);
        assert.equal(written.plugin?.evidence, 'emulated');
        assert.equal(written.plugin.unpack, 'kernel (gpu)');
        assert.deepEqual(written.plugin.memory, ['ipc']);
      }
    });
  });

  test('tcpx vram: host and GPU memory in all combinations', async () => {
    await withPair({}, async (pair) => {
      for (const local of ['dram', 'ipc'] as const) {
        for (const remote of ['dram', 'ipc'] as const) {
          for (const bytes of [1, 524_289, 5 * MIB + 3]) {
            await moveBoth(pair, bytes, 7, [local, remote]);
          }
        }
      }
    });
  });

  for (const nics of [1, 2, 3, 4]) {
    for (const perNic of [1, 2]) {
      test(`tcpx vram: ${nics} NICs × ${perNic} channels`, async () => {
        const names = ['eth1', 'eth2', 'eth3', 'eth4'].slice(0, nics).join(',');
        const settings: Settings = {
          'session.nics': names,
          'flow.channels': nics * perNic,
          'tcpx.sockets': 2,
        };
        await withPair({ settings }, async (pair) => {
          const [written] = await moveBoth(pair, 9 * MIB + 1, 9);
          assert.equal(written.channels.length, nics * perNic);
          await moveBoth(pair, 5 * MIB + 3, 3, ['dram', 'ipc']);
        });
      });
    }
  }

  const shapes: readonly (readonly [string, SideOptions])[] = [
    ['unpack d2d', { settings: { 'tcpx.unpack': 'd2d' } }],
    ['unpack host', { settings: { 'tcpx.unpack': 'host' } }],
    ['host receives', { settings: { 'tcpx.hostRecv': true } }],
    ['sent from the region', { settings: { 'tcpx.sendFrom': 'region' } }],
    ['sent from the ring', { settings: { 'tcpx.sendFrom': 'ring' } }],
    ['one process', { settings: { 'session.nics': 'eth1,eth2', 'tcpx.processes': 'one' } }],
    ['random fragments', { plugin: { TCPX_EMU_FRAGMENTS: 'random', TCPX_EMU_POISON: 'full' } }],
  ];
  for (const [name, side] of shapes) {
    test(`tcpx vram: ${name}`, async () => {
      const plugin = { ...CUDA.plugin, ...side.plugin };
      const pair = await openPair({ ...side, plugin });
      await moveBoth(pair, 4 * MIB + 5, 5);
      await moveBoth(pair, 2 * MIB + 1, 5, ['dram', 'ipc']);
      await moveBoth(pair, 2 * MIB + 1, 5, ['ipc', 'dram']);
      await pair.close();
    });
  }

  for (const isHostRecv of [false, true]) {
    const name = isHostRecv ? 'host receives' : 'unpacked by copies';
    test(`tcpx vram: small blocks of GPU and host memory share messages, ${name}`, async () => {
      const [count, blockBytes, bytes] = [300, 5003, 300 * 5003];
      const pair = await openPair({ ...CUDA, settings: { 'tcpx.hostRecv': isHostRecv } });
      const device = world.allocate(bytes);
      const target = world.allocate(bytes);
      const own = pair.initiator.register({ ...device, device: 0 });
      const theirs = pair.target.register({ ...target, device: 0 });
      const hostView = new Uint8Array(pair.initiator.allocate(bytes).buffer);
      const hostRegion = pair.initiator.register(hostView);
      // Every third block lies in host memory; all of them arrive in the opposite order.
      const blocks = Array.from({ length: count }, (_, index) => ({
        local: index % 3 === 0 ? hostRegion : own,
        localOffset: index * blockBytes,
        remote: theirs.descriptor,
        remoteOffset: (count - 1 - index) * blockBytes,
        bytes: blockBytes,
      }));
      world.fill(device, 3);
      fillPattern(hostView, 3, 0);
      const receipt = await pair.session.write(blocks).done;
      assert.equal(receipt.chunks, Math.ceil(count / Math.floor(524_288 / blockBytes)));
      for (const { localOffset, remoteOffset } of blocks) {
        const landed = {
          addr: target.addr + remoteOffset,
          bytes: blockBytes,
          free: () => undefined,
        };
        assert.equal(world.mismatches(landed, 3, localOffset), 0, `block at ${localOffset}`);
      }
      world.fill(device, 4);
      hostView.fill(0);
      await pair.session.read(blocks).done;
      for (const [index, { localOffset: at }] of blocks.entries()) {
        const part = { addr: device.addr + at, bytes: blockBytes, free: () => undefined };
        const inHost = verifyPattern(hostView.subarray(at, at + blockBytes), 3, at).count;
        assert.equal(index % 3 === 0 ? inHost : world.mismatches(part, 3, at), 0, `block at ${at}`);
        if (index % 3 === 0) assert.equal(world.mismatches(part, 4, at), 0, 'not its memory');
      }
      await pair.close();
      for (const memory of [device, target]) memory.free();
    });
  }

  test('tcpx vram: unpack none moves nothing, verification fails', async () => {
    const pair = await openPair({ ...CUDA, settings: { 'tcpx.unpack': 'none' } });
    const local = makePlace(world, pair.initiator, 'ipc', MIB);
    const remote = makePlace(world, pair.target, 'ipc', MIB);
    local.fill(1);
    remote.fill(2);
    await pair.session.write(wholeBlocks(local, remote)).done;
    assert.ok(remote.mismatches(1) > 0.9 * MIB);
    assert.equal(remote.mismatches(2), 0, 'the target is untouched');
    await pair.close();
  });
});

// eslint-disable-next-line max-lines-per-function -- a list of tests
describe('tcpx vram: ways into the plugin processes', () => {
  for (const way of ['ipc', 'vmm', 'pool', 'staged'] as const) {
    test(`tcpx vram: ${way}, as source and destination`, async () => {
      await withPair({ settings: { 'session.nics': 'eth1,eth2' } }, async (pair) => {
        for (const bytes of [1, 3 * MIB + 5, 9 * MIB]) {
          const [written, read] = await moveBoth(pair, bytes, 11, [way, way]);
          assert.deepEqual([written.plugin?.memory, read.plugin?.memory], [[way], [way]]);
        }
        await moveBoth(pair, MIB + 1, 13, [way, 'dram']);
      });
    });
  }

  test('tcpx vram: a range of several allocations, from the middle of one to another', async () => {
    await withPair({}, async (pair) => {
      const whole = world.allocate(12 * MIB, 'vmm', 5);
      const offset = 2 * MIB + 77;
      const part = { addr: whole.addr + offset, bytes: 7 * MIB + 1, free: () => undefined };
      const { addr, bytes } = part;
      const region = pair.initiator.register({ device: 0, addr, bytes });
      const remote = makePlace(world, pair.target, 'ipc', bytes);
      world.fill(whole, 31);
      const block = { local: region, localOffset: 0, remote: remote.region.descriptor };
      const blocks = [{ ...block, remoteOffset: 0, bytes }];
      await pair.session.write(blocks).done;
      world.fill(whole, 32);
      const { plugin } = await pair.session.read(blocks).done;
      assert.deepEqual(plugin?.memory, ['vmm']);
      assert.equal(world.mismatches(part, 31, offset), 0);
      assert.equal(world.mismatches({ ...whole, bytes: offset }, 32), 0, 'what lies before');
      await pair.initiator.deregister(region);
      await remote.release();
      whole.free();
    });
  });

  test('tcpx vram: two regions of one allocation, at odd offsets', async () => {
    await withPair({}, async (pair) => {
      const whole = world.allocate(4 * MIB);
      const parts = [1001, 2 * MIB + 3].map((offset) => ({
        addr: whole.addr + offset,
        bytes: MIB + 1,
        free: () => undefined,
      }));
      const local = parts.map(({ addr, bytes }) =>
        pair.initiator.register({ device: 0, addr, bytes }),
      );
      const remote = makePlace(world, pair.target, 'ipc', 2 * (MIB + 1));
      world.fill(whole, 3);
      const blocks = local.map((region, index) => ({
        local: region,
        localOffset: 0,
        remote: remote.region.descriptor,
        remoteOffset: index * (MIB + 1),
        bytes: MIB + 1,
      }));
      await pair.session.write(blocks).done;
      world.fill(whole, 4);
      await pair.session.read(blocks).done;
      assert.equal(world.mismatches(parts[0] as never, 3, 1001), 0);
      assert.equal(world.mismatches(parts[1] as never, 3, 2 * MIB + 3), 0);
      const between = { addr: whole.addr, bytes: 1001, free: () => undefined };
      assert.equal(world.mismatches(between, 4), 0, 'what lies before is untouched');
      for (const region of local) await pair.initiator.deregister(region);
      await remote.release();
      whole.free();
    });
  });

  test('tcpx vram: a source that is not ready is waited for', async () => {
    await withPair({}, async (pair) => {
      const bytes = 8 * MIB;
      const memory = world.allocate(bytes);
      const { addr } = memory;
      const region = pair.initiator.register({ device: 0, addr, bytes });
      const remote = makePlace(world, pair.target, 'ipc', bytes);
      const sourceReady = world.fillLater(memory, 21);
      const block = { local: region, localOffset: 0, remote: remote.region.descriptor };
      await pair.session.write([{ ...block, remoteOffset: 0, bytes }], { sourceReady }).done;
      assert.equal(remote.mismatches(21), 0);
      await pair.initiator.deregister(region);
      memory.free();
      await remote.release();
    });
  });
});

// eslint-disable-next-line max-lines-per-function -- a list of tests
describe('tcpx vram: what goes wrong', () => {
  test('tcpx vram: memory of no GPU is refused by name', async () => {
    const pair = await openPair(CUDA);
    const attempt = () => pair.initiator.register({ device: 0, addr: 4096, bytes: 4096 });
    assert.throws(attempt, (error: unknown) => isTcpxError(error, 'ERR_USAGE_ARGUMENT'));
    await pair.close();
  });

  test('tcpx vram: plugin processes kept off the GPU refuse GPU memory', async () => {
    const pair = await openPair({ plugin: { TCPX_EMU_MEMORY: 'host' } });
    const memory = world.allocate(4096);
    const { addr, bytes } = memory;
    const local = pair.initiator.register({ device: 0, addr, bytes });
    const remote = makePlace(world, pair.target, 'dram', bytes);
    const block = {
      local,
      localOffset: 0,
      remote: remote.region.descriptor,
      remoteOffset: 0,
      bytes,
    };
    const refused = pair.session.write([block]).done;
    await assert.rejects(refused, (error: unknown) => isTcpxError(error, 'ERR_CAP_GPU'));
    // From then on it is known, and tcp takes what the plugin cannot.
    const { provider, providerReason } = await pair.session.write([block]).done;
    assert.equal(provider, 'tcp');
    assert.match(providerReason, /without a GPU/);
    await pair.initiator.deregister(local);
    await remote.release();
    memory.free();
    await pair.close();
  });

  test('tcpx vram: a GPU that faults fails the transfer, the next has new processes', async (t) => {
    if (world.isReal) {
      t.skip('needs the stand-in for libcuda, which faults on demand');
      return;
    }
    const fault = { ...CUDA.plugin, FAKE_CUDA_FAULT_AT: '20' };
    const pair = await openPair({}, { initiator: CUDA, target: { plugin: fault } });
    const local = makePlace(world, pair.initiator, 'ipc', 32 * MIB);
    const remote = makePlace(world, pair.target, 'ipc', 32 * MIB);
    local.fill(8);
    const starts = railsOf(pair.target).starts;
    const failed = pair.session.write(wholeBlocks(local, remote)).done;
    await assert.rejects(failed, (error: unknown) => {
      assert.ok(isTcpxError(error), String(error));
      // The plugin meets the fault as well, and may be the first to tell.
      const told = /cuStreamQuery|cuStreamSynchronize|cuMemcpy|CU failure/;
      assert.match(error.message, told);
      return true;
    });
    const few = wholeBlocks(local, remote).map((block) => ({ ...block, bytes: MIB }));
    await writeUntilGood(pair, few);
    assert.ok(railsOf(pair.target).starts > starts, 'a context that has faulted is of no more use');
    await pair.close();
  });

  test('tcpx vram: plugin processes killed while they hold GPU memory harm nobody', async () => {
    const pair = await openPair({ ...CUDA, settings: { 'session.nics': 'eth1,eth2' } });
    const bytes = 16 * MIB;
    for (const way of ['ipc', 'vmm', 'pool'] as const) {
      const local = makePlace(world, pair.initiator, way, bytes);
      const remote = makePlace(world, pair.target, way, bytes);
      const blocks = wholeBlocks(local, remote);
      local.fill(5);
      await pair.session.write(blocks).done;
      const transfer = pair.session.write(blocks);
      for (const pid of railsOf(pair.target).pids()) process.kill(pid, 'SIGKILL');
      await transfer.done.then(
        () => undefined,
        (error: unknown) => assert.ok(isTcpxError(error), String(error)),
      );
      assert.equal(local.mismatches(5), 0, 'the application’s memory is whole');
      local.fill(6);
      await writeUntilGood(pair, blocks);
      assert.equal(remote.mismatches(6), 0, 'new processes map it again');
      await local.release();
      await remote.release();
    }
    await pair.close();
  });
});

/** The news of a killed process may be behind the next post. */
async function writeUntilGood(pair: TcpxPair, blocks: ReturnType<typeof wholeBlocks>) {
  for (let tries = 0; ; tries++) {
    try {
      await pair.session.write(blocks).done;
      return;
    } catch (error) {
      if (tries === 3) throw error;
    }
  }
}
