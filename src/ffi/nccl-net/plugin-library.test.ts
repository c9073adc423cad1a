import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_PLUGIN_PATH } from '../../base/plugin-settings.js';
import { loadPluginLibrary, pluginCandidates } from './plugin-library.js';

test('plugin library: a given path is the only candidate', () => {
  assert.deepEqual(
    pluginCandidates({ path: './x.so', name: 'tcpx' }, () => true),
    ['./x.so'],
  );
});

test('plugin library: the default place, then the names that NCCL tries', () => {
  assert.deepEqual(
    pluginCandidates({ path: '', name: 'tcpx' }, () => true),
    [DEFAULT_PLUGIN_PATH, 'tcpx', 'libnccl-net-tcpx.so', 'libnccl-net.so'],
  );
  assert.deepEqual(
    pluginCandidates({ path: '', name: '' }, () => false),
    ['libnccl-net.so'],
  );
});

test('plugin library: failures carry their code', () => {
  assert.throws(() => loadPluginLibrary({ path: '/nowhere.so', name: '' }), {
    code: 'ERR_CAP_NET_PLUGIN',
  });
  assert.throws(() => loadPluginLibrary({ path: 'libm.so.6', name: '' }), {
    code: 'ERR_CAP_NET_PLUGIN_TABLE',
  });
});
