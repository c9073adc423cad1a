// A plugin that says nothing, or whose sockets are dead: noticed within a time, so alone on the
// machine. Its other faults are in tcpx-faults.test.ts.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { ErrorCode } from '../../src/base/errors.js';
import { failure, openFaulty, prepare } from './tcpx-faulty-pair.js';
import { closeProviders, logLines, openPair } from './tcpx-pair.js';

after(closeProviders);

/** For timers of a machine that has other things to do. */
const SLACK_MS = 1000;
/** Longer than a plugin takes to start, also on a machine that has other things to do. */
const SETUP_MS = 3000;
const HASTY = { 'tcpx.hangMs': 400, 'tcpx.setupTimeoutMs': 4000 } as const;

describe('tcpx: the plugin is silent', () => {
  for (const side of ['target', 'initiator'] as const) {
    test(`tcpx: a hang inside test at the ${side} ends the process by its heart-beat`, async () => {
      const pair = await openFaulty('hang:3', side, HASTY);
      const { blocks } = prepare(pair);
      const began = performance.now();
      const error = await failure(pair.session.write(blocks, { deadlineMs: 8000 }).done);
      assert.ok(performance.now() - began < 4000, 'before the deadline');
      assert.match(error.message, /no heart-beat for \d+ ms, inside test, channel 0/);
      assert.equal(
        side === 'initiator' ? error.code : error.facts['peerCode'],
        'ERR_NCCLNET_HUNG' satisfies ErrorCode,
      );
      await pair.close();
    });

    test(`tcpx: a dead data socket at the ${side} is a deadline that names the chunk`, async () => {
      const pair = await openFaulty('socket-death:3', side, HASTY);
      const { blocks } = prepare(pair);
      const began = performance.now();
      const transfer = pair.session.write(blocks, { deadlineMs: 1000 });
      const error = await failure(transfer.done);
      const tookMs = performance.now() - began;
      assert.equal(error.code, 'ERR_XFER_DEADLINE');
      assert.ok(tookMs >= 999 && tookMs < 1000 + SLACK_MS, `hard: ${tookMs} ms`);
      assert.ok(!transfer.isReleased, 'the plugin may still read, or write');
      await transfer.released;
      const named =
        /taken down.*(send|receive), channel 0 \(eth1\): chunk \d+, tag \d+, offset \d+; posted/;
      assert.ok(
        logLines.some((line) => named.test(line)),
        'both ends say what they waited for',
      );
      await pair.close();
    });

    test(`tcpx: a peer that closes, at the ${side}, is an error of the call`, async () => {
      const pair = await openFaulty('peer-closed:3', side, HASTY);
      const { blocks } = prepare(pair);
      const error = await failure(pair.session.write(blocks, { deadlineMs: 5000 }).done);
      const code = error.facts['peerCode'] ?? error.code;
      assert.match(String(code), /^ERR_(PEER_LOST|XFER_FAILED|NCCLNET_CALL)$/);
      assert.match(error.message, /channel 0 \(eth1\): test of chunk \d+, tag \d+, offset \d+/);
      await pair.close();
    });
  }

  test('tcpx: a stuck accept is an error when the set-up time is over', async () => {
    const began = performance.now();
    const error = await failure(
      openPair(
        { settings: { 'tcpx.setupTimeoutMs': SETUP_MS } },
        { target: { plugin: { TCPX_EMU_FAULT: 'accept-stuck' } } },
      ),
    );
    assert.ok(performance.now() - began < SETUP_MS + 7000);
    assert.match(error.message, /join on eth1.*no answer in 3000 ms|not joined in 3000 ms/);
  });
});
