// The forms and defaults of UCCL's TCPX benchmarks, and the lines that its tools look for.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { benchResult } from '../../test/support/bench-result.js';
import { loadConfig } from '../base/config.js';
import { applyUcclForm, clientLines, idleVariables, logName, serverLines } from './uccl-form.js';

const MIB = 1024 * 1024;

describe('UCCL form: settings', () => {
  test('neither GPU word nor variable: nothing changes', () => {
    const config = loadConfig({ environment: { PATH: '/bin' } });
    assert.equal(applyUcclForm(config, { hasGpu: false, environment: {} }), undefined);
  });

  test('a GPU word: 4 MiB × 10, and the port counts up from the base by the GPU', () => {
    for (let gpu = 0; gpu < 8; gpu++) {
      const config = loadConfig({ flags: { 'bench.gpu': String(gpu) } });
      const formed = applyUcclForm(config, { hasGpu: true, environment: {} });
      assert.ok(formed !== undefined);
      const { values } = formed;
      assert.deepEqual([values['bench.sizeBytes'], values['bench.iterations']], [4 * MIB, 10]);
      assert.equal(values['session.port'] + values['session.portIndex'], 20_000 + gpu);
    }
  });

  test('what is given by flag or variable stays', () => {
    const environment = { UCCL_TCPX_PERF_SIZE: '67108864' };
    const config = loadConfig({ flags: { 'session.portIndex': '5' }, environment });
    const formed = applyUcclForm(config, { hasGpu: true, environment });
    assert.equal(formed?.values['bench.sizeBytes'], 64 * MIB);
    assert.equal(formed.values['bench.iterations'], 10);
    assert.equal(formed.values['session.portIndex'], 5);
  });

  test('a variable alone: its defaults, the port as it is', () => {
    const environment = { UCCL_TCPX_NUM_CHANNELS: '2' };
    const config = loadConfig({ environment, flags: { 'bench.gpu': '3' } });
    const formed = applyUcclForm(config, { hasGpu: false, environment });
    assert.equal(formed?.values['bench.iterations'], 10);
    assert.equal(formed.values['session.portIndex'], 0);
    const origin = formed.effective.find(({ name }) => name === 'bench.iterations')?.origin;
    assert.equal(origin, 'default of the UCCL form');
  });

  test('the secret survives', () => {
    const environment = { NIXL_TCPX_TRUST_SECRET: 'x'.repeat(20) };
    const formed = applyUcclForm(loadConfig({ environment }), { hasGpu: true, environment });
    assert.equal(formed?.values['trust.secret'], 'x'.repeat(20));
  });
});

describe('UCCL form: logs', () => {
  const result = benchResult(4, {
    iterations: 2,
    bytesMoved: 2 * 67_108_864,
    samples: {
      bandwidthGBps: { every: 1, values: [4, 2] },
      latencyUs: { every: 1, values: [] },
    },
  });

  test('names as its scripts give them', () => {
    const time = new Date(2026, 0, 31, 23, 59, 58);
    assert.equal(logName('server', time), 'bench_server_20260131_235958.log');
    assert.equal(logName('client', time), 'bench_client_20260131_235958.log');
  });

  test('client: a line for each iteration, and the average that its tools look for', () => {
    const lines = clientLines(result, 3);
    assert.ok(lines.includes('[PERF] GPU: 3'));
    assert.ok(lines.includes('[PERF] Iter 0 time=16.777ms'));
    assert.ok(lines.includes('[PERF] Iter 1 time=33.554ms'));
    assert.ok(lines.includes('[PERF] Avg: 16.777 ms, BW: 4.00 GB/s'), lines.join('\n'));
    assert.match(lines.join('\n'), /PERF.*Avg.*BW:/);
    assert.match(lines.join('\n'), /GB means 10\^9 bytes/);
  });

  test('server: the average with its number of iterations', () => {
    const report = {
      op: 'write',
      iterations: 10,
      bytes: 10 * 4 * MIB,
      medianGBps: 4,
      meanGBps: 2,
      latencyP50Us: 12,
      isOk: true,
      checked: 10,
    };
    const lines = serverLines('10.0.0.2', report, 1);
    assert.ok(lines.includes('[PERF] Avg (10 iter): 2.097 ms, BW: 2.00 GB/s'), lines.join('\n'));
  });
});

test('UCCL form: one line names what is set and has no meaning here, and what has instead', () => {
  assert.equal(idleVariables({ UCCL_TCPX_PERF_SIZE: '4096', UCCL_TCPX_CTRL_IP: '' }), undefined);
  assert.equal(
    idleVariables({ UCCL_TCPX_PORT_RETRIES: '16', UCCL_TCPX_PREF_SIZE: '1', HOME: '/' }),
    'without meaning here: UCCL_TCPX_PORT_RETRIES (a port that is taken is an error: --port), ' +
      'UCCL_TCPX_PREF_SIZE (not known)',
  );
});
