import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { withCode } from '../../../test/support/expect-error.js';
import { EAGAIN, ECONNREFUSED, EFAULT, ENOENT, ESRCH } from './errno.js';
import { closeFd } from './file-descriptor.js';
import { addressOf } from './library.js';
import { createMemoryFile } from './mapping.js';
import { createSealedFile, settledBytes } from './memory-file.js';
import { waitReadable } from './poll.js';
import { ProcessMoves, readProcess } from './process-memory.js';
import { acceptSocket } from './socket.js';
import {
  connectUnix,
  listenUnix,
  openPeerPidfd,
  peerCredentials,
  receiveUnix,
  sendUnix,
} from './unix-socket.js';

test('unix socket: bytes and descriptors arrive; the other end is known by the kernel', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-unix-'));
  const path = join(folder, 's');
  try {
    assert.equal(connectUnix(path), -ENOENT);
    const listener = listenUnix(path, 4);
    const client = connectUnix(path);
    const server = acceptSocket(listener);
    assert.equal(receiveUnix(server), -EAGAIN);
    const sealed = createSealedFile('test', 4096);
    writeSync(sealed, 'through the descriptor');
    assert.equal(sendUnix(client, Buffer.from('hello'), [sealed, sealed]), 5);
    const got = receiveUnix(server);
    assert.ok(typeof got !== 'number');
    assert.equal(Buffer.from(got.bytes).toString(), 'hello');
    assert.equal(got.descriptors.length, 2);
    for (const fd of got.descriptors) {
      assert.match(readFileSync(`/proc/self/fd/${fd}`, 'latin1'), /^through the descriptor/);
      closeFd(fd);
    }
    assert.equal(peerCredentials(server).pid, process.pid);
    assert.equal(peerCredentials(server).uid, process.getuid?.());
    const pidfd = openPeerPidfd(server);
    assert.ok(pidfd >= 0);
    assert.equal(waitReadable([pidfd], 0), 0, 'it lives');
    assert.throws(() => listenUnix(path, 4), withCode('ERR_SYS_ADDRESS_IN_USE'));
    closeFd(client);
    const end = receiveUnix(server);
    assert.ok(typeof end !== 'number' && end.bytes.length === 0);
    for (const fd of [server, listener, sealed, pidfd]) closeFd(fd);
    assert.equal(connectUnix(path), -ECONNREFUSED);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('memory file: one that is sealed cannot become shorter, others can', () => {
  const sealed = createSealedFile('test', 8192);
  const open = createMemoryFile('test', 8192);
  assert.equal(settledBytes(sealed), 8192);
  assert.match(String(settledBytes(open)), /F_SEAL_SHRINK/);
  assert.match(String(settledBytes(0)), /F_SEAL_SHRINK/);
  closeFd(sealed);
  closeFd(open);
});

test('process memory: many ranges in one call, and what is not mapped is said', () => {
  const source = Buffer.from('abcdefgh');
  const target = Buffer.alloc(8);
  const moves = new ProcessMoves();
  moves.add(addressOf(target), addressOf(source) + 4, 4);
  moves.add(addressOf(target) + 4, addressOf(source), 4);
  assert.equal(moves.move(process.pid, 'read'), 0);
  assert.equal(target.toString(), 'efghabcd');
  moves.add(addressOf(target), addressOf(source), 8);
  assert.equal(moves.move(process.pid, 'write'), 0);
  assert.equal(source.toString(), 'efghabcd');
  moves.add(addressOf(target), 4096, 4);
  assert.equal(moves.move(process.pid, 'read'), -EFAULT);
  moves.close();
  assert.equal(readProcess(0x7ffffff0, addressOf(source), 4), -ESRCH);
});
