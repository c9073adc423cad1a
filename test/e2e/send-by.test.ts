// `tcpx bench loopback --send-by`: what went by reference is counted, and every byte is right.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { BenchResult } from '../../src/bench/bench-result.js';
import { runChild, runTcpx } from './child.js';

const ZERO_COPY = ['--send-by', 'zerocopy'];
const ONE_LANE = ['--channels', '1', '--lanes', '1'];
const BENCH = ['bench', 'loopback', '--size', '4MiB', '--iters', '4', '--warmup', '1'];

async function bench(words: readonly string[]): Promise<BenchResult> {
  const { exitCode, stdout, stderr } = await runTcpx([...BENCH, '--json', ...words]);
  assert.equal(exitCode, 0, stderr);
  const result = JSON.parse(stdout) as BenchResult;
  assert.deepEqual(result.verified, { iterations: 5, mismatches: 0 });
  return result;
}

/** A few transfers on a busy machine may all have gone through fewer channels than there are. */
function assertChannels({ zeroCopy, channels }: BenchResult): void {
  const count = zeroCopy.length;
  assert.ok(count >= 1 && count <= channels, `${count} of ${channels} channels`);
}

describe('bench --send-by', () => {
  for (const words of [ONE_LANE, ['--channels', '2', '--lanes', '2'], ['--progress', 'caller']]) {
    test(`zero-copy: writes are sent and verified, ${words.join(' ')}`, async () => {
      const result = await bench([...ZERO_COPY, ...words]);
      assert.equal(result.config['socket.sendBy'], 'zerocopy');
      assertChannels(result);
      for (const { sends, zeroCopied, copied, fallbacks } of result.zeroCopy) {
        assert.ok(sends > 0, `${sends} sends`);
        assert.deepEqual([zeroCopied, fallbacks], [0, 0]);
        // The kernel's last reports are read with the next send, which an idle lane does not have.
        assert.ok(copied <= sends, `${copied} of ${sends} reported`);
        if (result.lanes === 1) assert.equal(copied, sends);
      }
      assert.ok(result.zeroCopy.some(({ copied }) => copied > 0));
    });
  }

  test('zero-copy: an initiator that reads sends nothing by reference', async () => {
    const result = await bench([...ZERO_COPY, '--op', 'read']);
    assert.deepEqual(result.zeroCopy, []);
  });

  test('copy: nothing is counted', async () => {
    assert.deepEqual((await bench(['--send-by', 'copy'])).zeroCopy, []);
  });

  const oneChunk = ['--chunk', '4MiB', ...ONE_LANE];
  for (const words of [ONE_LANE, ['--channels', '2', '--lanes', '2'], oneChunk]) {
    test(`splice: writes go by reference and verify, ${words.join(' ')}`, async () => {
      const result = await bench(['--send-by', 'splice', ...words]);
      assert.equal(result.config['socket.sendBy'], 'splice');
      assertChannels(result);
      for (const { sends, zeroCopied, copied, fallbacks } of result.zeroCopy) {
        assert.ok(sends > 0, `${sends} sends`);
        assert.deepEqual([zeroCopied, copied, fallbacks], [sends, 0, 0]);
      }
    });
  }

  test('splice: short blocks are copied', async () => {
    assert.deepEqual((await bench(['--block', '8KiB'])).zeroCopy, []);
  });

  test('zero-copy: the report says that the kernel copied', async () => {
    const { exitCode, stdout, stderr } = await runTcpx([...BENCH, ...ZERO_COPY, ...ONE_LANE]);
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /^zero-copy +0 of \d+ sends, the kernel copied all/m);
  });

  // Without the right to lock memory the kernel has no room to note pages: ENOBUFS for each call.
  test('zero-copy: no room for pages falls back to ordinary sends, counted', async (t) => {
    const probe = ['--bounding-set=-ipc_lock', 'prlimit', '--memlock=4096'];
    const check = await runChild('setpriv', [...probe, 'true']).catch(() => undefined);
    if (check?.exitCode !== 0) {
      t.skip('needs setpriv and prlimit, and the right to drop CAP_IPC_LOCK');
      return;
    }
    const words = [process.execPath, 'bin/tcpx.js', ...BENCH, '--json', ...ZERO_COPY];
    words.push('--warmup-seconds', '0', ...ONE_LANE);
    const { exitCode, stdout, stderr } = await runChild('setpriv', [...probe, ...words]);
    assert.equal(exitCode, 0, stderr);
    const result = JSON.parse(stdout) as BenchResult;
    assert.deepEqual(result.verified, { iterations: 5, mismatches: 0 });
    const [channel] = result.zeroCopy;
    assert.ok(channel !== undefined && channel.fallbacks > 0);
    assert.equal(channel.sends, 0);
  });
});
