// Texts that reach an engine from metadata, flags and the environment.

import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import fc from 'fast-check';
import { decodesOrRefuses, fuzzTarget } from '../../test/support/fuzz-target.js';
import { mutatedText } from '../../test/support/mutated-bytes.js';
import { loadConfig } from '../base/config.js';
import { parseCpuList, parseCpuMask } from '../base/cpu-set.js';
import { parseLaneBindings } from '../base/lane-bindings.js';
import { environmentName, SETTING_NAMES, settingOf } from '../base/settings.js';
import { parseBytes } from '../base/units.js';
import { formatConnInfo, parseConnInfo } from './conn-info.js';
import { formatRegion, parseRegion } from './region-text.js';

const CONN_INFOS = [
  'tcpx-conn/1 instance=0123456789abcdef port=40123 hosts=10.0.0.7,fd00::7',
  'tcpx-conn/1 instance=ffffffffffffffff port=1 hosts=127.0.0.1 later=1',
];
const REGIONS = [
  'tcpx-region/1 3 1 0123456789abcdef0123456789abcdef',
  'tcpx-region/1 0 2147483647 ffffffffffffffffffffffffffffffff',
];
const VALUES = [
  '0',
  '1',
  '64',
  '65536',
  '64MiB',
  '512K',
  'true',
  'secret',
  'network',
  'eth1',
  '-1',
];
const BINDINGS = ['eth1:8-21,112-125;eth2:60-73', 'eth0:0', ''];

export const FUZZ_TARGETS = [
  fuzzTarget(
    'connection info: addresses and a port, or a wire error',
    { runs: 3000 },
    mutatedText(CONN_INFOS),
    (text) => {
      const info = decodesOrRefuses(parseConnInfo, text, /^ERR_WIRE_METADATA$/);
      if (info === undefined) return;
      assert.ok(info.hosts.every((host) => isIP(host) !== 0));
      assert.ok(info.port > 0 && info.port < 65536);
      assert.deepEqual(parseConnInfo(formatConnInfo(info)), info);
    },
  ),
  fuzzTarget(
    'region text: what comes back as it went, or a wire error',
    { runs: 3000 },
    fc.tuple(mutatedText(REGIONS), fc.oneof(fc.nat(), fc.double())),
    ([text, bytes]) => {
      const parse = (given: string) => parseRegion(given, bytes);
      const region = decodesOrRefuses(parse, text, /^ERR_WIRE_METADATA$/);
      if (region !== undefined) assert.equal(formatRegion(region), text);
    },
  ),
  fuzzTarget(
    'settings: any text in the environment is a value in its range, or a configuration error',
    { runs: 1500 },
    fc.tuple(fc.constantFrom(...SETTING_NAMES), mutatedText(VALUES)),
    ([name, text]) => {
      const environment = { [environmentName(name)]: text };
      const load = () => loadConfig({ environment }).values[name];
      const value = decodesOrRefuses(load, undefined, /^ERR_CONFIG_/);
      const setting = settingOf(name);
      if (typeof value !== 'number' || !('minimum' in setting)) return;
      assert.ok(value >= setting.minimum && value <= setting.maximum);
    },
  ),
  fuzzTarget(
    'texts of cores and sizes: numbers, or nothing',
    { runs: 3000 },
    mutatedText([...BINDINGS, '0-3,8', '0xff,00000001', '64MiB']),
    (text) => {
      decodesOrRefuses(parseLaneBindings, text, /^ERR_CONFIG_VALUE$/);
      for (const parse of [parseCpuList, parseCpuMask]) {
        for (const cpu of parse(text) ?? []) assert.ok(Number.isSafeInteger(cpu) && cpu >= 0);
      }
      const bytes = parseBytes(text);
      assert.ok(bytes === undefined || (Number.isSafeInteger(bytes) && bytes >= 0));
    },
  ),
];
