import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { test } from 'node:test';
import { createLog, LOG_LEVELS, type LogLevel, silentLog } from './log.js';

function linesOf(level: LogLevel, format: 'text' | 'json' = 'text') {
  const lines: string[] = [];
  return { lines, log: createLog({ level, format, write: (line) => lines.push(line) }) };
}

test('log: writes its level and the graver ones', () => {
  for (const [index, level] of LOG_LEVELS.entries()) {
    const { lines, log } = linesOf(level);
    for (const each of LOG_LEVELS) log[each]('event');
    assert.equal(lines.length, index + 1, level);
  }
});

test('log: text is time, level, event and key=value, quoted where needed', () => {
  const { lines, log } = linesOf('info');
  log.info('session.open', {
    peer: '10.0.0.1:20000',
    note: 'a b="c"\n',
    gone: undefined,
    count: 3,
  });
  const [time = '', ...rest] = (lines[0] ?? '').split(' ');
  assert.match(time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  const fields = 'peer=10.0.0.1:20000 note="a b=\\"c\\"\\n" count=3';
  assert.equal(rest.join(' '), `info session.open ${fields}\n`);
});

test('log: a value cannot forge a second line', () => {
  for (const format of ['text', 'json'] as const) {
    const { lines, log } = linesOf('info', format);
    log.warn('event', { peer: 'x\n2024-01-01T00:00:00Z error forged' });
    assert.equal(lines.join('').trimEnd().split('\n').length, 1, format);
  }
});

test('log: json is one object with the fields', () => {
  const { lines, log } = linesOf('info', 'json');
  log.error('event', { count: 3, isLast: true });
  const line = JSON.parse(lines[0] ?? '') as Record<string, unknown>;
  assert.equal(typeof line['time'], 'string');
  assert.deepEqual(
    { ...line, time: '' },
    { time: '', level: 'error', event: 'event', count: 3, isLast: true },
  );
});

test('log: the silent one writes nothing, another one writes to stderr', (t) => {
  const write = t.mock.method(fs, 'writeSync', () => 0);
  syncBuiltinESMExports();
  t.after(() => {
    write.mock.restore();
    syncBuiltinESMExports();
  });
  silentLog.error('event');
  assert.equal(write.mock.callCount(), 0);
  createLog({ level: 'info', format: 'text' }).info('event');
  assert.equal(write.mock.callCount(), 1);
  assert.equal(write.mock.calls[0]?.arguments[0], 2);
});
