import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createLog } from '../../base/log.js';
import { HostLog } from './host-log.js';

async function levelsOf(isIdle: boolean, lines: readonly string[]): Promise<string[]> {
  const written: string[] = [];
  const log = createLog({ level: 'info', format: 'text', write: (line) => written.push(line) });
  const stream = new PassThrough();
  const hostLog = new HostLog('eth1', log, () => isIdle);
  hostLog.attach({ stdio: [null, null, null, stream] } as unknown as ChildProcess);
  for (const text of lines) stream.write(`2\tffff\twhere\t1\t${text}\n`);
  await setImmediate();
  return written.map((line) => /Z (\w+) /.exec(line)?.[1] ?? '');
}

test('host log: a peer that closes when all is finished is no warning', async () => {
  const closed = 'a<-b rx Connection closed by remote peer';
  assert.deepEqual(await levelsOf(true, [closed]), ['info']);
  assert.deepEqual(await levelsOf(false, [closed]), ['warn']);
  assert.deepEqual(await levelsOf(true, ['Create FlowSteerRule Failed']), ['warn']);
});
