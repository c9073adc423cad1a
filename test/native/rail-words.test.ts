// What the rails say when a plugin does something: errors and log lines as a user reads them.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { describeStall } from '../../src/provider/tcpx/channel-counters.js';
import { RECEIVE } from '../../src/provider/tcpx/host-layout.js';
import {
  closeRails,
  failureOf,
  makeRails,
  moveChecked,
  openRailPair,
  openRails,
} from './rail-pair.js';

after(closeRails);

test('rail words: without the log shim every error says that the words are lost', async () => {
  const host = { isLogLost: true } as const;
  const failing = { plugin: { TCPX_EMU_FAULT: 'init' }, host };
  const early = await failureOf(openRails(failing));
  assert.match(early.message, /words are not captured/);
  const pair = await openRailPair(
    { host },
    { receiver: { plugin: { TCPX_EMU_FAULT: 'no-cmsg' } } },
  );
  const [warning] = pair.sender.rails.lines.filter((line) => line.includes('not captured'));
  assert.ok(warning !== undefined, 'said at the start too');
  const late = await failureOf(moveChecked(pair));
  assert.equal(late.code, 'ERR_NCCLNET_EXIT');
  assert.match(late.message, /exited with 1.*words are not captured/);
});

test('rail words: result 2 of test is the peer only where the plugin says so', async () => {
  const own = await openRailPair({}, { receiver: { plugin: { TCPX_EMU_FAULT: 'control-error' } } });
  const error = await failureOf(moveChecked(own));
  assert.equal(error.code, 'ERR_NCCLNET_CALL');
  assert.match(error.message, /system error \(2\); it said: .*Cannot allocate memory/);
  assert.doesNotMatch(error.message, /the peer closed/);
  const gone = await openRailPair({}, { receiver: { plugin: { TCPX_EMU_FAULT: 'peer-closed' } } });
  const lost = await failureOf(moveChecked(gone));
  assert.equal(lost.code, 'ERR_PEER_LOST');
  assert.match(lost.message, /the peer closed/);
});

test('rail words: a manager that is silent is named, in its own time', async () => {
  const settings = { 'tcpx.rxdmTimeoutMs': 700, 'tcpx.setupTimeoutMs': 8000 } as const;
  const receiver = { settings, plugin: { TCPX_EMU_FAULT: 'rxdm-silent' } };
  const startMs = performance.now();
  const error = await failureOf(openRailPair({}, { receiver }));
  assert.equal(error.code, 'ERR_NCCLNET_HUNG');
  assert.match(error.message, /eth1.*receive datapath manager took .* not answered in 700 ms/);
  assert.ok(performance.now() - startMs < 7000, 'long before the set-up time is over');
});

test('rail words: a drained bounce buffer is said, with window × chunk', async () => {
  const receiver = { plugin: { TCPX_EMU_BOUNCE_BYTES: '65536' } };
  const pair = await openRailPair({}, { receiver });
  const stalled = moveChecked(pair);
  await assert.rejects(stalled, /not finished/);
  const counters = pair.receiver.channels[0]?.counters(RECEIVE);
  assert.ok(counters !== undefined);
  assert.match(
    describeStall('receive', 0, 'eth1', counters),
    /drained: a full window takes 8388608 bytes \(--recv-window × --chunk\), it has 65536/,
  );
});

test('rail words: a chunk too large is refused, and what dies of one says --chunk', async () => {
  assert.throws(() => makeRails({ settings: { 'flow.chunkBytes': 16 * 1024 * 1024 } }), {
    code: 'ERR_CONFIG_VALUE',
    message: /16777216 bytes needs more than the 2048 fragments.*lower --chunk to 8388608/,
  });
  const receiver = { plugin: { TCPX_EMU_FAULT: 'too-many-fragments' } };
  const pair = await openRailPair({}, { receiver });
  assert.match((await failureOf(moveChecked(pair))).message, /failstop; hint: .*lower --chunk/);
});

test('rail words: a trace folder that is not there is a typed error', async () => {
  const { set } = makeRails({ settings: { 'tcpx.traceDir': '/nowhere/traces' } });
  const error = await failureOf(set.open());
  assert.equal(error.code, 'ERR_CONFIG_VALUE');
  assert.match(error.message, /traceDir: \/nowhere\/traces: ENOENT.*--trace-dir/);
  assert.equal(set.starts, 0);
});

test('rail words: a normal end logs no warning', async () => {
  const pair = await openRailPair({ settings: { 'session.nics': 'eth1,eth2' } });
  for (const channel of [0, 1]) await moveChecked(pair, channel);
  for (const { channels } of [pair.receiver, pair.sender]) {
    for (const channel of channels) await channel.close(3000);
  }
  await Promise.all([pair.sender, pair.receiver].map(({ rails }) => rails.set.close()));
  const lines = [...pair.sender.rails.lines, ...pair.receiver.rails.lines];
  assert.deepEqual(
    lines.filter((line) => / (warn|error) /.test(line)),
    [],
  );
});
