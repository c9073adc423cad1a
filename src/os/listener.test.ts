import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { test } from 'node:test';
import { until } from '../../test/support/until.js';
import { closeFd } from '../ffi/libc/file-descriptor.js';
import { getSocketText, IPPROTO_TCP, TCP_CONGESTION } from '../ffi/libc/socket.js';
import { ControlSet } from './control-set.js';
import { Listener } from './listener.js';

const ADDRESS = { host: '127.0.0.1', port: 0 };

async function congestionOfAccepted(congestion: string): Promise<string> {
  const set = new ControlSet(8);
  const accepted: number[] = [];
  const onAccepted = (fd: number): void => void accepted.push(fd);
  const listener = new Listener(set, {
    address: ADDRESS,
    congestion,
    onAccepted,
    onRefused: closeFd,
  });
  const peer = connect(listener.address.port, '127.0.0.1');
  await once(peer, 'connect');
  await until('the connection was accepted', 2000, () => {
    set.poll();
    return accepted.length > 0;
  });
  const [fd = -1] = accepted;
  const name = getSocketText(fd, IPPROTO_TCP, TCP_CONGESTION);
  peer.destroy();
  closeFd(fd);
  listener.close();
  set.close();
  return name;
}

test('listener: a connection begins with the congestion control asked for', async (t) => {
  const usual = await congestionOfAccepted('');
  const path = '/proc/sys/net/ipv4/tcp_allowed_congestion_control';
  const other = readFileSync(path, 'utf8')
    .trim()
    .split(' ')
    .find((name) => name !== usual);
  if (other === undefined) {
    t.skip(`this kernel has ${usual} alone`);
    return;
  }
  assert.equal(await congestionOfAccepted(other), other);
});

test('listener: a congestion control that the kernel does not have is named', () => {
  const set = new ControlSet(8);
  const told = { onAccepted: () => undefined, onRefused: () => undefined };
  const options = { address: ADDRESS, congestion: 'no-such', ...told };
  const openFds = (): number => readdirSync('/proc/self/fd').length;
  const before = openFds();
  assert.throws(() => new Listener(set, options), /TCP_CONGESTION no-such: ENOENT/);
  assert.equal(openFds(), before);
  set.close();
});
