// `tcpx bench …` as a child process: the document it prints, and what it says when things go wrong.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { BenchResult } from '../../src/bench/bench-result.js';
import type { ErrorDocument } from '../../src/cli/error-document.js';
import type { Receipt } from '../../src/provider/receipt.js';
import { until } from '../support/until.js';
import { runChild, runTcpx } from './child.js';
import { hasEnded, RunningTcpx } from './running-tcpx.js';

/** Time for a process to start on a busy machine, on top of what is promised. */
let startMs = 0;

before(async () => {
  const beganMs = performance.now();
  // What a benchmark loads, without what it does then.
  const load = "import './bin/tcpx.js'; import './dist/src/bench/loopback.js';";
  const loaded = await runChild(process.execPath, ['--input-type=module', '--eval', load]);
  assert.equal(loaded.exitCode, 0, loaded.stderr);
  startMs = Math.round(1000 + 4 * (performance.now() - beganMs));
});

async function loopback(flags: readonly string[]): Promise<BenchResult> {
  const { exitCode, stdout, stderr } = await runTcpx(['bench', 'loopback', '--json', ...flags]);
  assert.equal(exitCode, 0, stderr);
  assert.equal(stderr, '', 'nothing for people where a program listens');
  return JSON.parse(stdout) as BenchResult;
}

function assertGood(result: BenchResult, verified: number): void {
  assert.equal(result.ok, true);
  assert.deepEqual(result.verified, { iterations: verified, mismatches: 0 });
  const receipt = result.receipt as Receipt;
  assert.equal(receipt.bytesConfirmed, result.sizeBytes);
  const carried = receipt.channels.reduce((sum, channel) => sum + channel.bytes, 0);
  assert.equal(carried, result.sizeBytes, 'the channels account for every byte');
}

/** One line with a code, no stack. */
function assertOneLine(stderr: string, pattern: RegExp): void {
  assert.match(stderr, pattern);
  assert.equal(stderr.trimEnd().split('\n').length, 1, `more than one line: ${stderr}`);
  assert.doesNotMatch(stderr, /\n\s+at /);
}

const FEW = ['--iters', '3', '--warmup', '1'];

// eslint-disable-next-line max-lines-per-function -- a list of tests
describe('bench loopback: results', () => {
  test('bench: the document has every field, with its type', async () => {
    const one = ['--channels', '1', '--lanes', '1'];
    const result = await loopback(['--size', '1MiB', ...FEW, ...one, '--pages', 'normal']);
    assertGood(result, 4);
    assert.equal(result.pages, 'normal');
    assert.equal(result.schema, 'tcpx.bench/1');
    assert.equal(result.evidence, 'measured');
    const texts = ['provider', 'op', 'memory', 'progress'] as const;
    assert.deepEqual(
      texts.map((name) => result[name]),
      ['tcp', 'write', 'dram', 'lanes'],
    );
    const counts = ['sizeBytes', 'blockBytes', 'chunkBytes', 'channels', 'lanes', 'iterations'];
    assert.deepEqual(
      counts.map((name) => result[name as 'channels']),
      [1_048_576, 1_048_576, 524_288, 1, 1, 3],
    );
    assertPositive(result.bandwidthGBps, ['mean', 'p50', 'min', 'max']);
    assertPositive(result.latencyUs, ['p50', 'p90', 'p99', 'max']);
    assert.deepEqual(Object.keys(result.cpuSecondsPerGB), ['initiator', 'target']);
    for (const cost of Object.values(result.cpuSecondsPerGB)) assert.equal(typeof cost, 'number');
    for (const end of ['initiator', 'target'] as const) {
      const { count = -1, totalUs = -1 } = result.lanePauses?.[end] ?? {};
      assert.ok(count >= 0 && totalUs >= 0, `${end}: ${count} pauses`);
    }
    assert.equal(result.config['flow.chunkBytes'], 524_288);
    assert.equal(result.config['trust.secret'], undefined, 'no secret in a document');
    for (const host of [result.host, result.peer]) {
      assert.equal(host.node, process.version);
      assert.ok(host.cores > 0 && host.kernel !== '' && host.congestion !== '');
    }
  });

  test('bench: warm-up goes on for its time, checked and not counted', async () => {
    const timed = async (seconds: string) => {
      const beganMs = performance.now();
      const result = await loopback(['--size', '64KiB', ...FEW, '--warmup-seconds', seconds]);
      return { result, ms: performance.now() - beganMs };
    };
    const without = await timed('0');
    const warm = await timed('2');
    assert.ok(warm.ms > 2000, `${warm.ms} ms`);
    assertGood(without.result, 4);
    assert.equal(warm.result.iterations, 3);
    assert.ok(warm.result.ok && warm.result.verified.iterations > 4);
  });

  test('bench: what the kernel counted is of the measured iterations alone', async () => {
    const result = await loopback(['--size', '1MiB', ...FEW, '--warmup', '20']);
    // Some of them may be a trial of more lanes.
    const acked = (result.kernel?.channels ?? []).reduce((sum, one) => sum + one.bytesAcked, 0);
    const measuredBytes = 3 * 1_048_576;
    assert.ok(acked >= measuredBytes, String(acked));
    assert.ok(acked < 2 * measuredBytes, String(acked));
  });

  test('bench: of few iterations the last is among the samples', async () => {
    const flags = ['--size', '64KiB', '--iters', '2', '--warmup', '1', '--verify', 'sample'];
    assertGood(await loopback(flags), 1);
  });

  test('bench: both kernels’ view of each channel’s connection is in the document', async () => {
    const result = await loopback(['--size', '4MiB', '--channels', '2', ...FEW]);
    const channels = result.kernel?.channels ?? [];
    // A third is there where the client has sent small messages while it polled.
    const indexesOf = (list: readonly { readonly channel: number }[]): number[] =>
      list.map(({ channel }) => channel).filter((channel) => channel !== 2);
    assert.deepEqual(indexesOf(channels), [0, 1]);
    const acked = channels.reduce((sum, { bytesAcked }) => sum + bytesAcked, 0);
    assert.ok(acked >= 3 * result.sizeBytes, `${acked} bytes acknowledged by the peer's kernel`);
    const peers = result.kernel?.peerChannels ?? [];
    assert.deepEqual(indexesOf(peers), [0, 1]);
    const received = peers.reduce((sum, { bytesReceived }) => sum + bytesReceived, 0);
    assert.ok(received >= 3 * result.sizeBytes, `${received} bytes received there`);
    for (const one of [...channels, ...peers]) {
      assert.ok(one.rttUs > 0 && one.congestionWindow > 0 && one.busyUs >= 0, JSON.stringify(one));
      assert.ok(one.retransmits >= 0);
    }
  });

  for (const size of ['1', '23', '100000007']) {
    for (const op of ['write', 'read']) {
      test(`bench: ${op} of ${size} bytes lands whole`, async () => {
        const result = await loopback(['--op', op, '--size', size, ...FEW]);
        assertGood(result, 4);
        assert.equal((result.receipt as Receipt).operation, op);
      });
    }
  }

  const variants: readonly (readonly [string, readonly string[]])[] = [
    ['callers drive', ['--progress', 'caller']],
    ['four channels on two lanes', ['--channels', '4', '--lanes', '2']],
    ['blocks of 16 KiB', ['--block', '16KiB']],
    [
      'blocks of 1000 bytes, read, four channels',
      ['--block', '1000', '--op', 'read', '--channels', '4'],
    ],
    ['eight transfers at a time', ['--batch', '8']],
  ];
  for (const [name, flags] of variants) {
    test(`bench: ${name}`, async () => {
      assertGood(await loopback(['--size', '4MiB', ...FEW, ...flags]), 4);
    });
  }

  test('bench: pingpong gives half round trips', async () => {
    const flags = ['--op', 'pingpong', '--size', '4096', '--iters', '200', '--warmup', '20'];
    const result = await loopback([...flags, '--progress', 'caller']);
    assert.equal(result.iterations, 200);
    assertPositive(result.cpuSecondsPerGB, ['initiator', 'target']);
    assertPositive(result.latencyUs, ['p50', 'p90', 'p99', 'max']);
  });

  test('bench: text for people goes to stdout and names machine and verification', async () => {
    const words = ['bench', 'loopback', '--size', '1MiB', ...FEW];
    const { exitCode, stdout, stderr } = await runTcpx(words);
    assert.equal(exitCode, 0, stderr);
    assert.match(stderr, /^moving 1 MiB per iteration/, 'progress is no result');
    assert.match(stdout, /verified\s+every byte of 4 iterations: all correct/);
    assert.match(stdout, /measured on\s+\S/);
  });
});

function assertPositive(values: object, names: readonly string[]): void {
  assert.deepEqual(Object.keys(values), names);
  for (const [name, value] of Object.entries(values)) {
    assert.ok(typeof value === 'number' && value > 0, `${name}: ${String(value)}`);
  }
}

describe('bench loopback: bad input exits with 2 and one line', () => {
  const cases: readonly (readonly [string, readonly string[], RegExp])[] = [
    ['unknown flag', ['--frobnicate'], /^ERR_USAGE_ARGUMENT: .*--frobnicate/],
    ['size 0', ['--size', '0'], /^ERR_CONFIG_VALUE: bench\.sizeBytes: "0"/],
    ['size -1', ['--size', '-1'], /^ERR_CONFIG_VALUE: bench\.sizeBytes: "-1"/],
    ['size 64XB', ['--size', '64XB'], /^ERR_CONFIG_VALUE: .*"64XB"/],
    ['17 channels', ['--channels', '17'], /^ERR_CONFIG_VALUE: flow\.channels: "17"/],
    ['callers and 2 lanes', ['--progress', 'caller', '--lanes', '2'], /^ERR_CONFIG_CONFLICT: /],
  ];
  for (const [name, flags, pattern] of cases) {
    test(`bench: ${name}`, async () => {
      const { exitCode, stdout, stderr } = await runTcpx(['bench', 'loopback', ...flags]);
      assert.equal(exitCode, 2, stderr);
      assertOneLine(stderr, pattern);
      assert.equal(stdout, '');
    });
  }
});

/** A TCP server on loopback that treats whoever comes as `greet` says. */
async function openRawServer(t: TestContext, greet: (socket: Socket) => void) {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    greet(socket);
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A port of loopback where nobody listens: one that was just given back. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

// eslint-disable-next-line max-lines-per-function -- a list of tests
describe('bench client and server: bad peers', () => {
  test('bench client: nobody listens, exit 4 that names the address', async () => {
    const closed = await freePort();
    const words = ['bench', 'client', '127.0.0.1', '--port', String(closed), '--json'];
    const beganMs = performance.now();
    const { exitCode, stderr } = await runTcpx([...words, '--connect-timeout', '500']);
    assert.equal(exitCode, 4, stderr);
    assertOneLine(stderr, new RegExp(`^ERR_PEER_UNREACHABLE: .*127\\.0\\.0\\.1:${closed}`));
    assert.ok(performance.now() - beganMs < 2000 + startMs);
  });

  test('bench client: a peer that speaks another protocol, exit 4', async (t) => {
    const port = await openRawServer(t, (socket) => {
      socket.write('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n');
    });
    const words = ['bench', 'client', '127.0.0.1', '--port', String(port), '--json'];
    const { exitCode, stderr } = await runTcpx([...words, '--handshake-timeout', '500']);
    assert.equal(exitCode, 4, stderr);
    assertOneLine(stderr, new RegExp(`^ERR_WIRE_\\w+: .*127\\.0\\.0\\.1:${port}`));
  });

  test('bench client: a peer that stays silent, exit 4 after the handshake timeout', async (t) => {
    let acceptedMs = 0;
    const port = await openRawServer(t, () => {
      acceptedMs = performance.now();
    });
    const words = ['bench', 'client', '127.0.0.1', '--port', String(port), '--json'];
    const { exitCode, stderr } = await runTcpx([...words, '--handshake-timeout', '500']);
    assert.equal(exitCode, 4, stderr);
    assertOneLine(stderr, new RegExp(`^ERR_PEER_TIMEOUT: .*127\\.0\\.0\\.1:${port}`));
    const tookMs = performance.now() - acceptedMs;
    assert.ok(tookMs >= 450 && tookMs < 2000 + startMs, `${tookMs} ms`);
  });

  test('bench client: a peer that hangs up in mid-handshake, exit 4', async (t) => {
    const port = await openRawServer(t, (socket) => {
      socket.once('data', () => socket.destroy());
    });
    const words = ['bench', 'client', '127.0.0.1', '--port', String(port), '--json'];
    const { exitCode, stderr } = await runTcpx([...words, '--handshake-timeout', '500']);
    assert.equal(exitCode, 4, stderr);
    assertOneLine(stderr, new RegExp(`^ERR_PEER_\\w+: .*127\\.0\\.0\\.1:${port}`));
  });

  test('bench server: a port in use, exit 4', async (t) => {
    const port = await openRawServer(t, () => undefined);
    const words = ['bench', 'server', '--bind', '127.0.0.1', '--port', String(port), '--json'];
    const server = new RunningTcpx(words);
    t.after(() => server.kill());
    assert.equal(await server.end(2000 + startMs), 4, server.stderr);
    assertOneLine(server.stderr, new RegExp(`^ERR_SYS_ADDRESS_IN_USE: .*:${port}`));
  });

  const installed = mkdtempSync(join(tmpdir(), 'tcpx-installed-'));
  writeFileSync(join(installed, 'tcpx'), '', { mode: 0o755 });
  after(() => rmSync(installed, { recursive: true }));
  for (const [how, program, own] of [
    ['by npx', 'npx tcpx', { npm_command: 'exec' }],
    ['in a clone', 'npx tcpx', { npm_command: '', PATH: '/usr/bin' }],
    ['where it is installed', 'tcpx', { npm_command: '', PATH: `${installed}:/usr/bin` }],
  ] as const) {
    test(`bench server: the printed line calls ${program} ${how}`, async (t) => {
      const words = ['bench', 'server', '--bind', '127.0.0.1', '--port', '0', '--json'];
      const server = new RunningTcpx(words, own);
      t.after(() => server.kill());
      await until('it listens', 5000 + startMs, () => server.stdout.trimEnd().endsWith('}'));
      const { client } = JSON.parse(server.stdout) as { client: string };
      assert.match(client, new RegExp(`^NIXL_TCPX_TRUST_SECRET=\\S+ ${program} bench client `));
    });
  }

  test('bench server: a secret of the user’s is not printed, and the note says so', async (t) => {
    const words = ['bench', 'server', '--bind', '127.0.0.1', '--port', '0'];
    const secret = 'a-secret-of-sixteen-letters';
    const server = new RunningTcpx(words, { NIXL_TCPX_TRUST_SECRET: secret });
    t.after(() => server.kill());
    await until('it listens', 5000 + startMs, () => server.stdout.includes('bench client'));
    assert.match(server.stderr, /the other node needs .* NIXL_TCPX_TRUST_SECRET there too/);
    assert.ok(!`${server.stdout}${server.stderr}`.includes(secret));
  });

  test('bench server: the printed secret admits one client, both ends end', async (t) => {
    const words = ['bench', 'server', '--bind', '127.0.0.1', '--port', '0', '--once', '--json'];
    const server = new RunningTcpx(words);
    t.after(() => server.kill());
    await until('the server listens', 5000 + startMs, () => server.stdout.trimEnd().endsWith('}'));
    const { port, secret } = JSON.parse(server.stdout) as { port: number; secret: string };
    const client = ['bench', 'client', '127.0.0.1', '--port', String(port), '--json'];
    const env = { NIXL_TCPX_TRUST_SECRET: secret };
    const stranger = await runTcpx([...client], { NIXL_TCPX_TRUST_SECRET: `${secret}x` });
    assert.equal(stranger.exitCode, 4);
    assertOneLine(stranger.stderr, /^ERR_\w+: /);
    const run = await runTcpx([...client, '--size', '1MiB', ...FEW], env);
    assert.equal(run.exitCode, 0, run.stderr);
    assertGood(JSON.parse(run.stdout) as BenchResult, 4);
    assert.equal(await server.end(2000 + startMs), 0, server.stderr);
  });
});

describe('bench loopback: one end is killed', () => {
  const endless = ['bench', 'loopback', '--size', '8MiB', '--seconds', '60', '--json'];

  for (const extra of [[], ['--op', 'read', '--channels', '4'], ['--progress', 'caller']]) {
    const name = extra.length === 0 ? 'write' : extra.join(' ');
    test(`bench: target killed in mid-run (${name}), exit 4 that names the peer`, async (t) => {
      const bench = new RunningTcpx([...endless, ...extra]);
      t.after(() => bench.kill());
      const target = await bench.busyTarget(20_000);
      process.kill(target, 'SIGKILL');
      assert.equal(await bench.end(5000), 4, bench.stderr);
      // Between two transfers the session reports the loss, during one the transfer does.
      const peer = /ERR_PEER_LOST: bench-target \(127\.0\.0\.1:\d+\)/;
      assertOneLine(bench.stderr, peer);
      assert.match(bench.stderr, /^ERR_(PEER_LOST|XFER_FAILED): /);
      const { schema, error } = JSON.parse(bench.stdout) as ErrorDocument;
      assert.equal(schema, 'tcpx.error/1');
      assert.match(error.code, /^ERR_(PEER_LOST|XFER_FAILED)$/);
    });
  }

  test('bench: initiator killed in mid-run, its target does not stay', async (t) => {
    const bench = new RunningTcpx(endless);
    t.after(() => bench.kill());
    const target = await bench.busyTarget(20_000);
    bench.kill();
    await until(`target ${target} ends`, 2000, () => hasEnded(target));
  });
});
