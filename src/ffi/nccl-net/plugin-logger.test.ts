// The shim is called here as a plugin calls it: from C, with variadic arguments.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import koffi from 'koffi';
import { parseLoggerLine, splitLoggerLines } from './logger-line.js';
import { openPluginLogger } from './plugin-logger.js';

const loggerPrototype = koffi.proto(
  'void tcpx_test_logger(int level, unsigned long flags, const char *where, int line, ' +
    'const char *format, ...)',
);

function callLogger(address: number) {
  const call = koffi.decode(BigInt(address), loggerPrototype);
  return (level: number, format: string, ...values: unknown[]) => {
    call(level, 0x10, 'where', 7, format, ...values);
  };
}

test('plugin logger: lines are formatted natively, filtered by level and kept whole', () => {
  const logger = openPluginLogger({ levelMax: 3 });
  assert.equal(logger.silence, '', 'npm run build:native makes the shim');
  const log = callLogger(logger.address);
  log(2, 'socket %d of %s\nnext', 'int', 4, 'const char *', 'eth1');
  assert.equal(logger.lastWarning(), 'socket 4 of eth1 next');
  log(5, 'trace');
  log(3, 'x'.repeat(5000));
  assert.equal(logger.lastWarning(), 'socket 4 of eth1 next', 'information is no warning');
  const [first, long, ...others] = logger.take();
  assert.deepEqual(first, {
    level: 2,
    flags: 0x10,
    where: 'where',
    line: 7,
    text: 'socket 4 of eth1 next',
  });
  assert.match(long?.text ?? '', /^x{1900,2047}$/);
  assert.deepEqual(others, []);
  logger.close();
  log(2, 'after close');
});

test('plugin logger: a full pipe costs lines, counted, and never waits', () => {
  const logger = openPluginLogger();
  const log = callLogger(logger.address);
  for (let i = 0; i < 2000; i++) log(2, 'y'.repeat(1000));
  assert.ok(logger.dropped() > 1000, `${logger.dropped()} dropped`);
  assert.ok(logger.take().length > 0);
  logger.close();
});

test('plugin logger: without the shim a silent sink that says so', () => {
  const logger = openPluginLogger({ shim: { path: '', absence: 'no compiler' } });
  assert.equal(logger.silence, 'no compiler');
  callLogger(logger.address)(2, 'lost');
  assert.deepEqual(logger.take(), []);
  assert.equal(logger.dropped(), 0);
});

test('plugin logger: an unusable descriptor is an error', () => {
  assert.throws(() => openPluginLogger({ fd: 987_654 }), { code: 'ERR_SYS_CALL' });
});

test('logger line: unfinished lines wait, odd ones are kept as text', () => {
  const { lines, rest } = splitLoggerLines('2\tff\tf\t1\ta\tb\nodd\n3\t1\tg');
  assert.deepEqual(
    lines.map(({ text }) => text),
    ['a\tb', 'odd'],
  );
  assert.equal(rest, '3\t1\tg');
  assert.equal(parseLoggerLine('odd').level, 2);
});
