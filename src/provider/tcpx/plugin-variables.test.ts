import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkVariables, forcedVariables, overriddenVariables } from './plugin-variables.js';

const X = 'NCCL_GPUDIRECTTCPX_';

test('plugin variables: what breaks the path is forced, and said where it was otherwise', () => {
  assert.equal(forcedVariables()['NCCL_INLINE_THRESHOLD'], '0');
  const inherited = { NCCL_INLINE_THRESHOLD: '2048', NCCL_USE_DMA_BUF: '1', NCCL_DEBUG: 'INFO' };
  assert.deepEqual(
    overriddenVariables(inherited).map(({ name, was, now }) => `${name} ${was} ${now}`),
    ['NCCL_INLINE_THRESHOLD 2048 0'],
  );
  assert.deepEqual(overriddenVariables({}), []);
});

test('plugin variables: what somebody must decide is refused by name and reason', () => {
  const bad: readonly (readonly [string, string, RegExp])[] = [
    [`${X}SOCKET_ENABLE`, '0', /switches the plugin off/],
    [`${X}CONNECTION_RETRY`, '0', /every connection fails/],
    [`${X}TELEMETRY_EXPORT_STATS_TO_FILE`, '1', /crashes without .*EXPORTER_PATH/],
    [`${X}UNIX_CLIENT_PREFIX`, `/${'x'.repeat(90)}`, /91 bytes leave no room/],
    [`${X}TX_BINDINGS`, 'eth1:8', /eth1: /],
  ];
  for (const [name, value, why] of bad) {
    assert.throws(() => checkVariables({ [name]: value }), {
      code: 'ERR_CONFIG_VALUE',
      message: new RegExp(`${name}=.*${why.source}`),
    });
  }
});

test('plugin variables: good ones pass', () => {
  checkVariables({
    [`${X}SOCKET_ENABLE`]: '1',
    [`${X}CONNECTION_RETRY`]: '5',
    [`${X}TELEMETRY_EXPORT_STATS_TO_FILE`]: '1',
    [`${X}TELEMETRY_EXPORTER_PATH`]: 'tmp/x',
    [`${X}UNIX_CLIENT_PREFIX`]: '/run/tcpx',
    [`${X}TX_BINDINGS`]: 'eth1:8-21,112-125;eth2:8-21',
    [`${X}RX_BINDINGS`]: '',
  });
});
