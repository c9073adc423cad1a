import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConfigSources, isByHand, loadConfig, withAuto } from '../base/config.js';
import { hasOwnLane, tune, tuneServed } from './tuning.js';

type Options = NonNullable<ConfigSources['options']>;

function chosen(options: Options, cpus: number, nics = 0) {
  const { values, effective } = tune(loadConfig({ options }), { cpus, nics });
  const originOf = (name: string) => effective.find((one) => one.name === name)?.origin;
  return {
    lanes: values['lane.count'],
    channels: values['flow.channels'],
    why: [originOf('lane.count'), originOf('flow.channels')],
  };
}

test('tuning: a table of hosts', () => {
  const cases: readonly (readonly [Options, number, number, number, number])[] = [
    // Settings by hand, CPUs, NICs; lanes and channels.
    [{}, 1, 0, 1, 1],
    [{}, 2, 0, 2, 2],
    [{}, 3, 0, 2, 2],
    [{}, 4, 0, 2, 2],
    [{}, 16, 0, 8, 8],
    [{}, 208, 0, 8, 8],
    [{}, 2, 1, 1, 1],
    [{}, 2, 4, 1, 4],
    [{}, 16, 2, 2, 2],
    [{}, 208, 4, 4, 4],
    [{}, 208, 20, 8, 16],
    [{ 'lane.progress': 'caller' }, 16, 0, 1, 1],
    [{ 'lane.progress': 'caller' }, 16, 4, 1, 4],
    [{ 'lane.count': 3 }, 16, 0, 3, 3],
    [{ 'lane.count': 8 }, 16, 2, 8, 2],
    [{ 'flow.channels': 5 }, 16, 0, 8, 5],
    [{ 'lane.count': 2, 'flow.channels': 1 }, 16, 4, 2, 1],
  ];
  for (const [options, cpus, nics, lanes, channels] of cases) {
    const label = `${JSON.stringify(options)}, ${cpus} CPUs, ${nics} NICs`;
    const { lanes: gotLanes, channels: gotChannels } = chosen(options, cpus, nics);
    assert.deepEqual([gotLanes, gotChannels], [lanes, channels], label);
  }
});

test('tuning: engines of a service share CPUs with it, and look longer where they are many', () => {
  const cases: readonly (readonly [Options, number, number, number, number])[] = [
    // Settings by hand, CPUs, NICs; lanes and µs.
    [{}, 1, 0, 1, 0],
    [{}, 2, 0, 1, 200],
    [{}, 7, 0, 3, 200],
    [{}, 8, 0, 4, 1000],
    [{}, 16, 0, 8, 1000],
    [{}, 208, 0, 8, 1000],
    [{}, 208, 1, 1, 1000],
    [{}, 208, 4, 4, 1000],
    [{ 'lane.count': 1, 'lane.spinUs': 50 }, 16, 0, 1, 50],
    [{ 'lane.progress': 'caller' }, 16, 0, 1, 200],
  ];
  for (const [options, cpus, nics, lanes, spinUs] of cases) {
    const facts = { cpus, nics };
    const { values } = tune(tuneServed(loadConfig({ options }), facts), facts);
    const label = `${JSON.stringify(options)}, ${cpus} CPUs, ${nics} NICs`;
    assert.deepEqual([values['lane.count'], values['lane.spinUs']], [lanes, spinUs], label);
  }
  const ownOf = (options: Options, cpus: number, nics = 0) => {
    const facts = { cpus, nics };
    const config = tune(tuneServed(loadConfig({ options }), facts), facts);
    return [hasOwnLane(config, facts), config.values['flow.channels']];
  };
  assert.deepEqual(ownOf({}, 16), [true, 8]);
  assert.deepEqual(ownOf({}, 2), [false, 1]);
  assert.deepEqual(ownOf({ 'lane.own': 'on' }, 2), [true, 1]);
  assert.deepEqual(ownOf({ 'lane.own': 'off' }, 16), [false, 8]);
  assert.deepEqual(ownOf({ 'lane.own': 'auto' }, 16), [true, 8]);
  assert.deepEqual(ownOf({ 'lane.own': 'on' }, 16, 4), [false, 4], 'NICs have lanes of theirs');
  assert.deepEqual(ownOf({ 'lane.progress': 'caller' }, 16), [false, 1]);
  const spinOf = (options: Options, cpus: number) =>
    tune(loadConfig({ options }), { cpus, nics: 0 }).values['service.spinUs'];
  assert.deepEqual([spinOf({}, 2), spinOf({}, 16)], [100, 1000]);
  assert.equal(spinOf({ 'service.spinUs': 7 }, 16), 7);
});

test('tuning: the thread that posts has a lane of its own, unless NICs or callers have all', () => {
  const ownOf = (options: Options, nics = 0) => {
    const facts = { cpus: 2, nics };
    return hasOwnLane(tune(loadConfig({ options }), facts), facts);
  };
  assert.deepEqual([ownOf({}), ownOf({ 'lane.own': 'off' }), ownOf({}, 1)], [true, false, false]);
  assert.equal(ownOf({ 'lane.progress': 'caller' }), false);
});

test('tuning: each choice says why, and is nobody’s firm wish', () => {
  assert.deepEqual(chosen({}, 16).why, ['auto: 16 CPUs', 'auto: one for each lane: 8']);
  assert.deepEqual(chosen({}, 2, 4).why, ['auto: 2 CPUs', 'auto: one for each NIC: 4']);
  assert.deepEqual(chosen({ 'lane.count': 2 }, 4).why[0], 'option');
  const tuned = tune(loadConfig({}), { cpus: 16, nics: 0 });
  assert.equal(isByHand(tuned, 'flow.channels'), false);
  const one = withAuto(loadConfig({}), 'lane.count', 1, 'one of many engines');
  assert.equal(tune(one, { cpus: 16, nics: 0 }).values['lane.count'], 1, 'chosen already');
});

test('tuning: a window that is asked for is the plugin’s too, unless that has its own', () => {
  const windowsOf = (sources: ConfigSources) => {
    const { values } = tune(loadConfig(sources), { cpus: 16, nics: 0 });
    return [values['flow.windowChunks'], values['tcpx.sendWindow'], values['tcpx.recvWindow']];
  };
  const variable = 'NIXL_TCPX_FLOW_WINDOW_CHUNKS';
  assert.deepEqual(windowsOf({}), [16, 12, 16]);
  assert.deepEqual(windowsOf({ flags: { 'flow.windowChunks': '8' } }), [8, 8, 8]);
  assert.deepEqual(windowsOf({ options: { 'flow.windowChunks': 8 } }), [8, 8, 8]);
  assert.deepEqual(windowsOf({ environment: { [variable]: '8' } }), [8, 8, 8]);
  assert.deepEqual(windowsOf({ environment: { [variable]: 'auto' } }), [16, 12, 16]);
  const flags = { 'flow.windowChunks': '8', 'tcpx.sendWindow': '4' };
  assert.deepEqual(windowsOf({ flags }), [8, 4, 8]);
  const environment = { NIXL_TCPX_TCPX_SEND_WINDOW: '4' };
  assert.deepEqual(windowsOf({ flags: { 'flow.windowChunks': 'auto' }, environment }), [16, 4, 16]);
  assert.deepEqual(windowsOf({ environment: { UCCL_TCPX_MAX_RECV_INFLIGHT: '9' } }), [9, 12, 9]);
});

test('tuning: `auto` is the word for it, and the secret stays out of sight', () => {
  const environment = { NIXL_TCPX_FLOW_CHANNELS: '4', NIXL_TCPX_TRUST_SECRET: 'a secret, long' };
  const config = loadConfig({ flags: { 'flow.channels': 'auto' }, environment });
  const tuned = tune(config, { cpus: 16, nics: 0 });
  assert.equal(tuned.values['flow.channels'], 8);
  assert.equal(tuned.values['trust.secret'], 'a secret, long');
  assert.doesNotMatch(JSON.stringify(tuned), /a secret/);
  const refused = { flags: { 'session.stallMs': 'auto' } };
  assert.throws(() => loadConfig(refused), /session\.stallMs: "auto"/);
});
