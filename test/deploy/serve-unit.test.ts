// The unit for systemd: it starts a command that exists, with flags that it has, in the folder that
// systemd makes for it.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { serveCommand } from '../../src/cli/commands/serve.js';
import { parseInvocation } from '../../src/cli/invocation.js';
import { packageRoot } from '../e2e/child.js';

const UNIT = join(packageRoot, 'examples/tcpx-serve.service');
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

function valueOf(text: string, name: string): string {
  const found = new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1];
  assert.ok(found !== undefined, name);
  return found;
}

test('unit for systemd: its command is ours, its folder is the one that systemd makes', () => {
  const text = readFileSync(UNIT, 'utf8');
  const words = valueOf(text, 'ExecStart').split(' ');
  assert.deepEqual(words.slice(0, 3), ['/usr/bin/env', 'tcpx', 'serve']);
  const { config } = parseInvocation(serveCommand, words.slice(3));
  const folder = `/run/${valueOf(text, 'RuntimeDirectory')}`;
  assert.equal(config.values['service.folder'], folder);
  assert.equal(valueOf(text, 'RuntimeDirectoryMode'), '0700', 'the service refuses a wider one');
  assert.match(text, new RegExp(`NIXL_TCPX_SERVICE_FOLDER=${folder}`));
});

test('unit for systemd: systemd has nothing against it', {
  skip: hasSystemd ? false : 'needs systemd-analyze',
}, () => {
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', UNIT], {
    encoding: 'utf8',
  });
  const said = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('tcpx-serve'));
  assert.deepEqual(said, []);
  assert.equal(status, 0, stderr);
});
