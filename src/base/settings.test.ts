import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeRange, describeWanted } from './setting.js';
import { environmentName, SETTING_NAMES, settingOf } from './settings.js';

test('settings: each default lies within its own range', () => {
  for (const name of SETTING_NAMES) {
    const setting = settingOf(name);
    if (setting.kind === 'choice') assert.ok(setting.choices.includes(setting.fallback), name);
    if (!('minimum' in setting)) continue;
    assert.ok(setting.minimum <= setting.fallback, `${name}: below its minimum`);
    assert.ok(setting.fallback <= setting.maximum, `${name}: above its maximum`);
    assert.ok(Number.isSafeInteger(setting.maximum), `${name}: maximum is not exact`);
  }
});

/** They mean the window of the provider in use: each provider has a setting for its own. */
const WINDOW_ALIASES = ['UCCL_TCPX_WINDOW_SIZE', 'UCCL_TCPX_MAX_RECV_INFLIGHT'];

test('settings: flags, environment names and aliases are unique', () => {
  const flags = SETTING_NAMES.flatMap((name) => settingOf(name).flag ?? []);
  assert.equal(new Set(flags).size, flags.length);
  const variables = SETTING_NAMES.flatMap((name) => [
    environmentName(name),
    ...(settingOf(name).aliases ?? []),
  ]);
  const shared = variables.filter((name, index) => variables.indexOf(name) !== index);
  assert.deepEqual([...new Set(shared)].sort(), [...WINDOW_ALIASES].sort());
});

test('settings: names are area.name, numbers carry their unit, texts end with a full stop', () => {
  const suffixes: Readonly<Record<string, RegExp>> = {
    bytes: /Bytes(Max)?$/,
    ms: /Ms$/,
    us: /Us$/,
  };
  for (const name of SETTING_NAMES) {
    const setting = settingOf(name);
    assert.match(name, /^[a-z]+\.[a-z][A-Za-z]*$/);
    assert.match(name, suffixes[setting.kind] ?? /./);
    assert.match(setting.summary, /\.$/, name);
    assert.match(setting.cost, /\.$/, name);
  }
});

test('settings: the environment name is derived from the name', () => {
  assert.equal(environmentName('flow.chunkBytes'), 'NIXL_TCPX_FLOW_CHUNK_BYTES');
  assert.equal(environmentName('lane.count'), 'NIXL_TCPX_LANE_COUNT');
});

test('settings: the range is described for each kind', () => {
  assert.equal(describeRange(settingOf('session.port')), '0 … 65535');
  assert.equal(describeRange(settingOf('bench.op')), 'write, read, both, pingpong');
  assert.equal(describeRange(settingOf('session.bind')), 'text');
  assert.equal(describeRange(settingOf('flow.chunkBytes')), '4 KiB … 16 MiB, auto');
  const wanted = describeWanted(settingOf('bench.op'), 'wrte');
  assert.equal(wanted, 'one of write, read, both, pingpong; did you mean write?');
  assert.match(describeWanted(settingOf('flow.chunkBytes'), 'x'), /^a size such as 64MiB, 4 KiB …/);
  assert.equal(describeWanted(settingOf('flow.checksum'), 'x'), 'one of true, false');
  const choice = { kind: 'boolean', fallback: false, summary: '.', cost: '.' } as const;
  assert.equal(describeRange(choice), 'true, false');
});
