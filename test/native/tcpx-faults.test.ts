// What the plugin does to its caller, seen from the application: a typed error on the transfers
// concerned, within the deadline, and a session that works again afterwards. A plugin that says
// nothing at all is in tcpx-silence.test.ts.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isTcpxError, type TcpxError } from '../../src/base/errors.js';
import { verifyPattern } from '../../src/base/pattern.js';
import type { Variables } from './plugin-environment.js';
import { failure, openFaulty, PATIENT, prepare } from './tcpx-faulty-pair.js';
import {
  closeProviders,
  epochsOf,
  logLines,
  openPair,
  openProvider,
  railsOf,
  type SideOptions,
} from './tcpx-pair.js';

after(closeProviders);

const MIB = 1024 * 1024;

describe('tcpx: the plugin ends its process', () => {
  const fatal: readonly (readonly [string, RegExp])[] = [
    ['no-cmsg:3', /exited with 1.*rx no cmsg/],
    ['header-landing:3', /exited with 1.*data landed on host memory/],
    ['cmsg-truncated:3', /exited with 1.*cmsg truncated/],
    ['bytes-mismatch:3', /exited with 1.*cmsg total bytes/],
    ['too-many-fragments:3', /exited with 1.*too many pages/],
    ['crash:3', /was ended by SIGSEGV/],
  ];
  for (const [fault, pattern] of fatal) {
    test(`tcpx: ${fault} at the target is an error that names it`, async () => {
      const pair = await openFaulty(fault);
      const { blocks } = prepare(pair);
      const error = await failure(pair.session.write(blocks, { deadlineMs: 8000 }).done);
      // Told by the peer, or seen first on the sockets that went with its process.
      assert.ok(['ERR_XFER_FAILED', 'ERR_PEER_LOST'].includes(error.code), error.code);
      assert.match(error.message, pattern);
      await pair.close();
    });
  }

  test('tcpx: a crash at the initiator is its own error, and the session works again', async () => {
    const pair = await openFaulty('crash:3', 'initiator');
    const { local, remote, blocks } = prepare(pair);
    const error = await failure(pair.session.write(blocks, { deadlineMs: 8000 }).done);
    assert.equal(error.code, 'ERR_NCCLNET_EXIT');
    assert.equal(error.facts['isFenced'], true, 'the target confirmed that nothing more lands');
    // Three messages pass before the fault strikes again.
    const block = { ...blocks[0]!, bytes: MIB };
    await pair.session.write([block]).done;
    assert.equal(verifyPattern(remote.bytes.subarray(0, MIB), 3, 0).count, 0);
    assert.equal(local.bytes.length, 16 * MIB);
    await pair.close();
  });

  test('tcpx: a crash costs one rail: the process of the other lives on', async () => {
    const pair = await openFaulty('crash@eth2:3', 'target', {
      'session.nics': 'eth1,eth2',
    });
    const { blocks } = prepare(pair);
    const before = railsOf(pair.target).pids();
    await failure(pair.session.write(blocks, { deadlineMs: 8000 }).done);
    const left = railsOf(pair.target).pids();
    assert.equal(left.length, 1);
    assert.ok(before.includes(left[0]!));
    await pair.close();
  });
});

// eslint-disable-next-line max-lines-per-function -- a list of tests
describe('tcpx: the peer goes between any two calls', () => {
  const delaysMs = [0, 2, 5, 10, 20, 40];

  test('tcpx: its plugin process is killed', async () => {
    const pair = await openPair({ settings: PATIENT });
    const { blocks } = prepare(pair);
    for (const delayMs of delaysMs) {
      await epochsOf(pair.session).ready();
      const [pid] = railsOf(pair.target).pids();
      assert.ok(pid !== undefined && pid > 1, 'the target has a plugin process');
      const transfer = pair.session.write(blocks, { deadlineMs: 10_000 });
      await sleep(delayMs);
      process.kill(pid, 'SIGKILL');
      // Late ones may find the transfer finished.
      const outcome = await transfer.done.catch((error: unknown) => error);
      const isGood = !(outcome instanceof Error) || isTcpxError(outcome);
      assert.ok(isGood, String(outcome));
      if (isTcpxError(outcome)) assert.ok(outcome.isRetryable, outcome.message);
    }
    // The news of the last kill may come after a write that had finished: the next one fails by it,
    // with an error that says to try again.
    for (let tries = 0; ; tries++) {
      const error = await pair.session.write(blocks, { deadlineMs: 10_000 }).done.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      if (error === undefined) break;
      assert.ok(isTcpxError(error), 'a typed error');
      assert.ok(error.isRetryable && tries < 2, error.message);
    }
    await pair.close();
  });

  test('tcpx: its sockets close after any number of messages, of either end', async () => {
    for (const count of [0, 1, 2, 11, 12, 13, 15, 16, 17, 31]) {
      const side = count % 2 === 0 ? 'target' : 'initiator';
      const pair = await openFaulty(`peer-closed:${count}`, side);
      const { blocks } = prepare(pair);
      const error = await failure(pair.session.write(blocks, { deadlineMs: 8000 }).done);
      assert.match(error.code, /^ERR_(PEER_LOST|XFER_FAILED)$/, `${count}`);
      assert.match(error.message, /channel 0 \(eth1\): test of chunk \d+, tag \d+, offset \d+/);
      await pair.close();
    }
  });

  test('tcpx: its plugin process is killed while channels are set up', async () => {
    for (const delayMs of delaysMs) {
      const [target, initiator] = await Promise.all([
        openProvider('target', { settings: PATIENT }),
        openProvider('initiator', { settings: PATIENT }),
      ]);
      const port = target.listen({ host: '127.0.0.1', port: 0 });
      const [pid] = railsOf(target).pids();
      assert.ok(pid !== undefined && pid > 1, 'the target has a plugin process');
      const connecting = initiator.connect('127.0.0.1', port);
      await sleep(delayMs);
      process.kill(pid, 'SIGKILL');
      // Early ones start another process, late ones may find the session ready.
      const outcome = await connecting.catch((error: unknown) => error);
      assert.ok(!(outcome instanceof Error) || isTcpxError(outcome), String(outcome));
      await Promise.all([initiator.close(), target.close()]);
    }
  });

  test('tcpx: it closes its provider', async () => {
    for (const delayMs of delaysMs.slice(0, 4)) {
      const pair = await openPair({ settings: PATIENT });
      const { blocks } = prepare(pair);
      const transfer = pair.session.write(blocks, { deadlineMs: 10_000 });
      await sleep(delayMs);
      const closing = pair.target.close();
      const outcome = await transfer.done.catch((error: unknown) => error);
      assert.ok(!(outcome instanceof Error) || isTcpxError(outcome), String(outcome));
      await closing;
      // A session that has ended takes no posts, as with tcp.
      const post = async () => await pair.session.write(blocks, { deadlineMs: 8000 }).done;
      const after = await failure(post());
      assert.match(after.code, /^ERR_(PEER|XFER|USAGE_STATE)/);
      await pair.initiator.close();
    }
  });
});

// eslint-disable-next-line max-lines-per-function -- a list of tests
describe('tcpx: the plugin refuses', () => {
  async function openFailure(side: SideOptions): Promise<TcpxError> {
    return failure(openProvider('alone', side));
  }

  test('tcpx: a missing library, a wrong library and a wrong table', async () => {
    const missing = await openFailure({ settings: { 'plugin.path': '/nowhere/libx.so' } });
    assert.equal(missing.code, 'ERR_CAP_NET_PLUGIN');
    const wrong = await openFailure({ settings: { 'plugin.path': 'libc.so.6' } });
    assert.equal(wrong.code, 'ERR_CAP_NET_PLUGIN_TABLE');
  });

  test('tcpx: init that fails', async () => {
    const error = await openFailure({ plugin: { TCPX_EMU_FAULT: 'init' } });
    assert.equal(error.code, 'ERR_NCCLNET_CALL');
    const said = /init: internal error \(3\) on eth1; it said: register failed against/;
    assert.match(error.message, said);
  });

  test('tcpx: an absent NIC is named', async () => {
    const error = await openFailure({ settings: { 'session.nics': 'eth1,eth9' } });
    assert.equal(error.code, 'ERR_NCCLNET_CALL');
    assert.match(error.message, /init: internal error \(3\) on eth9; it said: no interface found/);
    const one = { 'session.nics': 'eth1,eth9', 'tcpx.processes': 'one' } as const;
    const among = await openFailure({ settings: one });
    assert.equal(among.code, 'ERR_CAP_NET_DEVICE');
    assert.match(among.message, /interface eth9: not among/);
  });

  const rules: readonly (readonly [string, RegExp])[] = [
    ['rxdm-absent', /receive-datapath-manager: rx_rule_manager connect\(\) error: 2/],
    ['rxdm-refused', /Create FlowSteerRule Failed/],
  ];
  for (const [fault, pattern] of rules) {
    for (const side of ['initiator', 'target'] as const) {
      test(`tcpx: ${fault} at the ${side} fails the set-up, in the plugin's words`, async () => {
        const before = logLines.length;
        const plugin = { TCPX_EMU_FAULT: fault };
        const error = await failure(openPair({ settings: PATIENT }, { [side]: { plugin } }));
        // Either end's news comes first: its accept failed, or the other's connect.
        assert.match(error.message, /(accept|connect)\b.*internal error \(3\) on eth1; it said/);
        assert.match(logLines.slice(before).join(''), pattern);
      });
    }
  }

  test('tcpx: the socket budget over two processes names the holder', async () => {
    const pair = await openPair({ settings: { 'tcpx.socketBudget': '3', 'tcpx.sockets': 2 } });
    const stateDir = pair.target.config.values['tcpx.stateDir'];
    await pair.close();
    const shared = { 'tcpx.stateDir': stateDir, 'tcpx.socketBudget': '3', 'tcpx.sockets': 2 };
    const error = await failure(openPair({ settings: shared }));
    const text = `${error.code} ${String(error.facts['peerCode'])} ${error.message}`;
    assert.match(text, /ERR_CAP_SOCKET_BUDGET/);
    assert.match(text, new RegExp(`budget of 3; process ${process.pid} holds 2`));
    const off = await openPair({ settings: { ...shared, 'tcpx.socketBudget': 'off' } });
    await off.close();
  });

  test('tcpx: chunk sizes and channel counts that differ are refused', async () => {
    const chunk = await failure(
      openPair({}, { target: { settings: { 'flow.chunkBytes': 65_536 } } }),
    );
    assert.match(chunk.message, /differs in flow\.chunkBytes \(/);
    const count = await failure(openPair({}, { target: { settings: { 'flow.channels': 2 } } }));
    assert.match(count.message, /differs in channels \((2 here, 1|1 here, 2) there\)/);
  });

  test('tcpx: the same host without the override is refused before the plugin dies', async () => {
    const side = { settings: PATIENT, plugin: { TCPX_EMU_SAME_HOST: '0' } };
    const error = await failure(openPair(side));
    assert.match(error.message, /both ends are on one host, where the plugin fails/);
  });

  test('tcpx: a GPU that is not behind the NIC; the rail GPU is', async () => {
    const plugin: Variables = { TCPX_EMU_GPU_NICS: '0=eth2,1=eth1' };
    const byHand = { ...PATIENT, 'tcpx.railGpus': 'eth1=0' };
    const wrong = await openPair({ settings: byHand, plugin });
    const set = prepare(wrong, MIB);
    assert.match((await failure(wrong.session.write(set.blocks).done)).message, /rx no cmsg/);
    await wrong.close();
    // Without a word by hand the map says which GPU is behind the NIC.
    const right = await openPair({ plugin });
    const { blocks } = prepare(right, MIB);
    await right.session.write(blocks).done;
    await right.close();
  });
});

describe('tcpx: cancel', () => {
  test('tcpx: cancel fails the transfer after the fence, and the next one works', async () => {
    const pair = await openFaulty('socket-death:3', 'target');
    const { blocks } = prepare(pair);
    const controller = new AbortController();
    const transfer = pair.session.write(blocks, { signal: controller.signal });
    await sleep(300);
    controller.abort();
    const error = await failure(transfer.done);
    assert.equal(error.code, 'ERR_XFER_CANCELLED');
    assert.equal(error.facts['isFenced'], true);
    await pair.session.write([{ ...blocks[0]!, bytes: 1000 }]).done;
    await pair.close();
  });
});
