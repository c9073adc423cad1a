// The command line that a benchmark server prints for the other node.

import assert from 'node:assert/strict';
import type { NetworkInterfaceInfo } from 'node:os';
import { describe, test } from 'node:test';
import { loadConfig } from '../base/config.js';
import { clientLine, reachableAddress } from './client-line.js';

function v4(address: string, internal = false): NetworkInterfaceInfo {
  return { address, netmask: '', family: 'IPv4', mac: '', internal, cidr: null };
}
function v6(address: string): NetworkInterfaceInfo {
  return { address, netmask: '', family: 'IPv6', mac: '', internal: false, cidr: null, scopeid: 0 };
}

const INTERFACES = {
  lo: [v4('127.0.0.1', true)],
  docker0: [v4('172.17.0.1')],
  eth0: [v6('fe80::1'), v6('fd00::2'), v4('10.0.0.2')],
  eth1: [v4('10.1.0.2')],
};

describe('reachable address', () => {
  const cases: readonly (readonly [string, string, string, object, string])[] = [
    ['what it is bound to', '10.9.9.9', '', INTERFACES, '10.9.9.9'],
    [
      'bound to all: not loopback, not a bridge of this host',
      '0.0.0.0',
      '',
      INTERFACES,
      '10.0.0.2',
    ],
    ['nothing said', '', '', INTERFACES, '10.0.0.2'],
    ['the control interface', '', 'eth1', INTERFACES, '10.1.0.2'],
    [
      'IPv6 where there is nothing else',
      '',
      '',
      { eth0: [v6('fe80::1'), v6('fd00::2')] },
      'fd00::2',
    ],
    ['only loopback', '', '', { lo: INTERFACES.lo }, '127.0.0.1'],
    ['only a bridge', '', '', { docker0: INTERFACES.docker0 }, '172.17.0.1'],
  ];
  for (const [name, bind, control, interfaces, expected] of cases) {
    test(name, () => {
      const found = reachableAddress(bind, control, interfaces as typeof INTERFACES);
      assert.equal(found, expected);
    });
  }
});

describe('client line', () => {
  const base = { program: 'npx tcpx', host: '10.0.0.2', port: 20_000, secret: 'S', hasGpu: false };

  test('all defaults: secret, address and port', () => {
    assert.equal(
      clientLine({ ...base, config: loadConfig() }),
      'NIXL_TCPX_TRUST_SECRET=S npx tcpx bench client 10.0.0.2 --port 20000',
    );
  });

  test('provider, plugin, memory path, NICs and trust come along, quoted for a shell', () => {
    const config = loadConfig({
      flags: {
        'engine.provider': 'tcpx',
        'plugin.path': '/opt/my plugin.so',
        'session.nics': 'eth1,eth2',
        'trust.mode': 'network',
      },
    });
    assert.equal(
      clientLine({ ...base, secret: undefined, config }),
      'npx tcpx bench client 10.0.0.2 --port 20000 --provider tcpx --nics eth1,eth2 ' +
        "--trust network --plugin '/opt/my plugin.so'",
    );
  });

  test('a GPU word: the client’s too, and the base port, to which both add', () => {
    const config = loadConfig({ flags: { 'bench.gpu': '3', 'session.portIndex': '3' } });
    assert.equal(
      clientLine({ ...base, port: 20_003, hasGpu: true, config }),
      'NIXL_TCPX_TRUST_SECRET=S npx tcpx bench client 10.0.0.2 3 --port 20000',
    );
  });

  test('a secret file: the client needs one with the same secret', () => {
    const config = loadConfig({ flags: { 'trust.secretFile': '/etc/tcpx.secret' } });
    assert.equal(
      clientLine({ ...base, secret: undefined, config }),
      'npx tcpx bench client 10.0.0.2 --port 20000 --secret-file /etc/tcpx.secret',
    );
  });

  test('an IPv6 address stands as it is', () => {
    const line = clientLine({ ...base, host: 'fd00::2', config: loadConfig() });
    assert.match(line, /bench client fd00::2 --port 20000$/);
  });
});
