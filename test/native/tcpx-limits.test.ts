// Windows, pools and pages at their limits, and an application that outlives its plugin.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { isTcpxError } from '../../src/base/errors.js';
import { fillPattern, verifyPattern } from '../../src/base/pattern.js';
import type { Engine } from '../../src/engine/engine.js';
import { RECEIVE, SEND } from '../../src/provider/tcpx/host-layout.js';
import {
  closeProviders,
  epochsOf,
  logLines,
  type Memory,
  makeMemory,
  openPair,
  railsOf,
  wholeBlock,
} from './tcpx-pair.js';

after(closeProviders);

const MIB = 1024 * 1024;
const PAGE_BYTES = 4096;

function makeMemories(provider: Engine, count: number, bytes: number) {
  const memories: Memory[] = [];
  for (let index = 0; index < count; index++) memories.push(makeMemory(provider, bytes));
  return memories;
}

// eslint-disable-next-line max-lines-per-function -- a list of tests
describe('tcpx: windows and pages', () => {
  test('tcpx: high-water marks stay within 16 and 12, receipts count every step', async () => {
    const pair = await openPair({ settings: { 'flow.channels': 2 } });
    const local = makeMemory(pair.initiator, 32 * MIB);
    const remote = makeMemory(pair.target, 32 * MIB);
    const receipt = await pair.session.write(wholeBlock(local, remote)).done;
    for (const { channel, chunks } of receipt.channels) {
      const counters = receipt.plugin?.counters[channel];
      assert.ok(counters !== undefined);
      assert.equal(counters.posted, chunks);
      assert.equal(counters.done, chunks);
      assert.ok(counters.highWater > 1 && counters.highWater <= 12, `${counters.highWater}`);
    }
    for (const counters of epochsOf(pair.targetSession).set.counters(RECEIVE)) {
      const { posted, done, unpacked, consumed, highWater } = counters;
      assert.deepEqual([done, unpacked, consumed], [posted, posted, posted]);
      assert.ok(highWater > 1 && highWater <= 16, `${highWater}`);
      assert.ok(counters.fragments >= posted);
    }
    assert.equal(epochsOf(pair.targetSession).set.counters(SEND)[0]?.posted, 0);
    await pair.close();
  });

  test('tcpx: 100000 messages through a pool of 64 pages lose none', async () => {
    const count = 100_000;
    const bytes = 64;
    const pair = await openPair({
      settings: { 'tcpx.gatherBytes': 0 },
      plugin: { TCPX_EMU_BOUNCE_BYTES: String(64 * PAGE_BYTES) },
    });
    const local = makeMemory(pair.initiator, count * bytes);
    const remote = makeMemory(pair.target, count * bytes);
    fillPattern(local.bytes, 11, 0);
    const blocks = Array.from({ length: count }, (_, index) => ({
      local: local.region,
      localOffset: index * bytes,
      remote: remote.region.descriptor,
      remoteOffset: index * bytes,
      bytes,
    }));
    const receipt = await pair.session.write(blocks).done;
    assert.equal(receipt.chunks, count);
    assert.equal(verifyPattern(remote.bytes, 11, 0).count, 0);
    assert.deepEqual(await railsOf(pair.target).pages(), { pages: 64, freePages: 64 });
    await pair.close();
  });

  test('tcpx: 1000 registrations at each end, interleaved transfers between them', async () => {
    const count = 1000;
    const bytes = 4096;
    const pair = await openPair({
      settings: { 'memory.regionsMax': count + 10, 'memory.transfersMax': count },
    });
    const locals = makeMemories(pair.initiator, count, bytes);
    const remotes = makeMemories(pair.target, count, bytes);
    for (const [index, { bytes: view }] of locals.entries()) fillPattern(view, index, 0);
    const writes = locals.map((local, index) => {
      const remote = remotes[count - 1 - index];
      assert.ok(remote !== undefined);
      return pair.session.write(wholeBlock(local, remote)).done;
    });
    await Promise.all(writes);
    for (const [index, { bytes: view }] of remotes.entries()) {
      assert.equal(verifyPattern(view, count - 1 - index, 0).count, 0, `region ${index}`);
    }
    for (const { region } of remotes) await pair.target.deregister(region);
    const again = makeMemory(pair.target, bytes);
    await pair.session.write(wholeBlock(locals[7] ?? again, again)).done;
    assert.equal(verifyPattern(again.bytes, 7, 0).count, 0);
    await pair.close();
  });

  test('tcpx: receives never consumed stall, the error names the full pool', async () => {
    const pair = await openPair({}, { target: { host: { isConsumeSkipped: true } } });
    const local = makeMemory(pair.initiator, 32 * MIB);
    const remote = makeMemory(pair.target, 32 * MIB);
    const transfer = pair.session.write(wholeBlock(local, remote), { deadlineMs: 2000 });
    await assert.rejects(transfer.done, (error) => {
      assert.ok(isTcpxError(error, 'ERR_XFER_DEADLINE'));
      return true;
    });
    await transfer.released;
    const peers = logLines.join('');
    assert.match(peers, /at the peer: receive, channel 0 \(eth1\): chunk 0, tag 1/);
    assert.match(peers, /done 16, unpacked 16, consumed 0; the pool of 16 is full/);
    await pair.close();
  });

  test('tcpx: without unpacking the bytes do not arrive, and all else looks well', async () => {
    const pair = await openPair({ settings: { 'tcpx.unpack': 'none' } });
    const local = makeMemory(pair.initiator, MIB);
    const remote = makeMemory(pair.target, MIB);
    fillPattern(local.bytes, 2, 0);
    const receipt = await pair.session.write(wholeBlock(local, remote)).done;
    assert.equal(receipt.plugin?.unpack, 'none (none)');
    assert.ok(verifyPattern(remote.bytes, 2, 0).count > MIB / 2);
    await pair.close();
  });

  test('tcpx: a message larger than is due fails before a byte is placed', async () => {
    // The peers disagree about a length only when one of them lies: the initiator's process is told
    // of chunks twice as large as those it announces.
    const pair = await openPair({ settings: { 'flow.chunkBytes': 65_536 } });
    const local = makeMemory(pair.initiator, 4 * MIB);
    const remote = makeMemory(pair.target, 4 * MIB);
    const blocks = wholeBlock(local, remote);
    await pair.session.write(blocks).done;
    const { set } = epochsOf(pair.session);
    const plan = {
      chunkCount: 1,
      channels: Uint8Array.of(0),
      blockBytes: Float64Array.of(40_000),
      blocks: Uint32Array.of(0),
      blockCounts: Uint32Array.of(1),
      blockOffsets: Float64Array.of(0),
      bytes: Float64Array.of(40_000),
      channelChunks: Uint32Array.of(1),
      channelBytes: Float64Array.of(40_000),
      totalBytes: 40_000,
    };
    // One message that was never announced shifts all that follow.
    set.put(9999, SEND, plan, 1000, [{ region: local.region.id, offset: 0 }]);
    await assert.rejects(pair.session.write(blocks, { deadlineMs: 3000 }).done, (error) => {
      assert.ok(isTcpxError(error));
      assert.match(error.message, /message of 40000 bytes, 65536 due|fragments into 65536/);
      return true;
    });
    await pair.close();
  });
});

test('tcpx: the application survives 100 of 100 plugin crashes', async () => {
  const pair = await openPair({}, { target: { plugin: { TCPX_EMU_FAULT: 'crash:5' } } });
  const local = makeMemory(pair.initiator, 8 * MIB);
  const remote = makeMemory(pair.target, 8 * MIB);
  const blocks = wholeBlock(local, remote);
  const small = [{ ...blocks[0]!, bytes: 1000 }];
  for (let run = 0; run < 100; run++) {
    await assert.rejects(pair.session.write(blocks, { deadlineMs: 20_000 }).done, (error) => {
      // Told by the peer, or seen first on the sockets that went with its process.
      assert.ok(isTcpxError(error), `run ${run}: ${String(error)}`);
      assert.ok(['ERR_XFER_FAILED', 'ERR_PEER_LOST'].includes(error.code), error.code);
      assert.match(error.message, /was ended by SIGSEGV/, `run ${run}`);
      return true;
    });
  }
  assert.equal(railsOf(pair.target).starts, 100);
  fillPattern(local.bytes, 77, 0);
  await pair.session.write(small).done;
  assert.equal(verifyPattern(remote.bytes.subarray(0, 1000), 77, 0).count, 0);
  assert.equal(railsOf(pair.target).starts, 101);
  await pair.close();
});
