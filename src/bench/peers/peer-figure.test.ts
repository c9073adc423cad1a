// Programs of others: what is read of what they print, and that none outlives us.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { until } from '../../../test/support/until.js';
import { parseIperf3 } from './iperf3.js';
import { startProgram } from './peer-figure.js';

const WHERE = { port: 5201 };
const DOCUMENT = JSON.stringify({
  end: {
    sum_received: { bits_per_second: 8e9 },
    cpu_utilization_percent: { host_total: 50, remote_total: 50 },
  },
});

test('iperf3: the document is on stdout; an odd line on stderr is no part of it', () => {
  const figure = parseIperf3({ stdout: DOCUMENT, stderr: 'iperf3: odd line\n' }, WHERE);
  assert.deepEqual(figure, { bytesPerSecond: 1e9, cpuSecondsPerGB: 1 });
});

test('iperf3: what is no document is refused with its words', () => {
  const refused = (stdout: string, stderr: string, message: RegExp) =>
    assert.throws(() => parseIperf3({ stdout, stderr }, WHERE), {
      ...{ code: 'ERR_PEER_REFUSED', message },
    });
  refused('', 'libiperf.so.0: no version\n', /no document, but "libiperf\.so\.0: no version"$/);
  refused('odd line\n', '', /no document, but "odd line"$/);
  refused('{"error": "busy"}', '', /^iperf3: busy$/);
  refused('{"end": {}}', '', /no sum_received/);
});

test('programs: stdout and stderr apart; both are in the reason of one that fails', async () => {
  const start = (script: string) => startProgram(['sh', '-c', script], 'none', {}, process.env);
  const output = await start('echo figures; echo warning >&2').finished;
  assert.deepEqual(output, { stdout: 'figures\n', stderr: 'warning\n' });
  await assert.rejects(start('echo some; echo why >&2; exit 3').finished, {
    ...{ code: 'ERR_PEER_LOST', message: /exit 3: why\nsome$/ },
  });
});

test('programs: SIGTERM ends them with us', async () => {
  const module = new URL('peer-figure.js', import.meta.url).href;
  const script =
    `import { startProgram } from '${module}';` +
    "const one = startProgram(['sleep', '60'], 'none', {}, process.env);" +
    'process.stdout.write(String(one.pid)); await one.finished;';
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script]);
  const [pid] = (await once(parent.stdout, 'data')) as [Buffer];
  const isAlive = () => existsSync(`/proc/${pid.toString()}`);
  assert.ok(isAlive());
  parent.kill('SIGTERM');
  const [, signal] = (await once(parent, 'exit')) as [number | null, string | null];
  assert.equal(signal, 'SIGTERM');
  await until('it has ended', 5000, () => !isAlive());
});
