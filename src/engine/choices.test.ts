import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConfigSources, loadConfig } from '../base/config.js';
import { choicesOf, type PeerTerms } from './choices.js';
import { tune } from './tuning.js';

const CONGESTION = { near: 'cubic', far: 'bbr', reason: 'cubic to near peers, else bbr' };
const AGREEMENT = { channels: 8, windowChunks: 16, chunkBytes: 524288 };

function chosen(
  sources: ConfigSources,
  terms: PeerTerms = {},
  agreement = AGREEMENT,
): Record<string, string> {
  const config = tune(loadConfig(sources), { cpus: 16, nics: 0 });
  const choices = choicesOf(config, agreement, terms, CONGESTION);
  return Object.fromEntries(
    choices.map(({ name, value, reason }) => [name, `${value}: ${reason}`]),
  );
}

test('choices: whoever sets nothing is told what was chosen, and why', () => {
  const seen = chosen({}, { roundTripUs: 60 });
  assert.equal(seen['flow.channels'], '8: auto: one for each lane: 8');
  assert.equal(seen['lane.count'], '8: auto: 16 CPUs');
  assert.match(seen['lane.spinUs'] ?? '', /^200: auto: at most/);
  assert.match(seen['flow.chunkBytes'] ?? '', /^524288: auto: to peers nearer/);
  assert.equal(seen['socket.congestion'], `cubic: auto: 0.1 ms away: ${CONGESTION.reason}`);
});

test('choices: channels that come late, and the lane of the thread that posts, are told of', () => {
  const seen = chosen({}, { channelsFirst: 1 });
  assert.match(seen['flow.channels'] ?? '', /^8: auto: .*: 8; 1 to begin with, as an end has many/);
  assert.match(seen['lane.own'] ?? '', /^on: auto: for less than 128 KiB/);
  assert.doesNotMatch(chosen({}, { channelsFirst: 8 })['flow.channels'] ?? '', /to begin with/);
});

test('choices: by hand, by the peer, by the distance', () => {
  const environment = { NIXL_TCPX_FLOW_CHANNELS: '8' };
  const flags = { 'socket.congestion': 'reno' };
  const seen = chosen({ environment, flags }, { roundTripUs: 20_000 });
  assert.equal(seen['flow.channels'], '8: environment NIXL_TCPX_FLOW_CHANNELS');
  assert.equal(seen['socket.congestion'], 'reno: flag --congestion');
  const other = chosen({}, {}, { ...AGREEMENT, channels: 2 });
  assert.equal(other['flow.channels'], '2: agreed with the peer');
  assert.match(other['socket.congestion'] ?? '', /^cubic: auto: distance unknown/);
  const reasons = { chunkBytes: 'auto: 20 ms away' };
  const far = chosen({}, { roundTripUs: 20_000, reasons }, { ...AGREEMENT, chunkBytes: 1 << 20 });
  assert.equal(far['flow.chunkBytes'], '1048576: auto: 20 ms away');
  assert.match(far['socket.congestion'] ?? '', /^bbr: auto: 20 ms away/);
});
