// The memory of a channel on its way from server to client: mail of others takes no place, no file
// is ever mapped that could fail under a touch, nothing stays open.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { closeFd } from '../../../ffi/libc/file-descriptor.js';
import { createMemoryFile, mapMemory, unmapMemory } from '../../../ffi/libc/mapping.js';
import { createSealedFile } from '../../../ffi/libc/memory-file.js';
import { mailUnix } from '../../../ffi/libc/unix-socket.js';
import { openFixedMemory } from '../../../os/fixed-memory.js';
import { mailboxName, ShmMailbox, shareMemory } from './shm-handover.js';
import { HEADER_BYTES, RING_BYTES, SHM_BYTES, SHM_MAGIC, SHM_VERSION } from './shm-layout.js';
import type { ShmLink } from './shm-link.js';

const answer = randomBytes(32);
const proof = randomBytes(32);
const SOME = new Uint8Array([1]);

function openMailbox(t: TestContext) {
  const nonce = randomBytes(32);
  const mailbox = new ShmMailbox(nonce, answer);
  t.after(() => mailbox.close());
  return { nonce, mailbox };
}

function share(t: TestContext, nonce: Uint8Array): ShmLink {
  const link = shareMemory(nonce, answer, proof);
  assert.ok(typeof link !== 'string', 'it is shared');
  t.after(() => link.unmap());
  return link;
}

/** Why nothing is shared. */
function reasonOf(nonce: Uint8Array): string {
  const outcome = shareMemory(nonce, answer, proof);
  assert.ok(typeof outcome === 'string', 'it is not shared');
  return outcome;
}

test('shm handover: both ends map the same memory, and no descriptor stays', (t) => {
  const before = readdirSync('/proc/self/fd').length;
  const nonce = randomBytes(32);
  const mailbox = new ShmMailbox(nonce, answer);
  assert.equal(mailbox.take(proof), undefined, 'nothing has come yet');
  const server = share(t, nonce);
  const client = mailbox.take(proof);
  mailbox.close();
  assert.ok(client !== undefined);
  t.after(() => client.unmap());
  assert.deepEqual([client.side, server.side], ['client', 'server']);
  openFixedMemory(server.addr, HEADER_BYTES).uint8[3000] = 77;
  assert.equal(openFixedMemory(client.addr, HEADER_BYTES).uint8[3000], 77);
  assert.equal(readdirSync('/proc/self/fd').length, before);
});

test('shm handover: without a mailbox, or with a full one, there is a reason', (t) => {
  assert.match(reasonOf(randomBytes(32)), /another network namespace/);
  const { nonce } = openMailbox(t);
  while (mailUnix(mailboxName(nonce), answer, []) > 0);
  assert.match(reasonOf(nonce), /is full/);
});

test('shm handover: a name that is taken is not taken over; the client goes without', (t) => {
  const { nonce, mailbox } = openMailbox(t);
  const second = new ShmMailbox(nonce, answer);
  share(t, nonce);
  assert.equal(second.take(proof), undefined);
  second.close();
  mailbox.take(proof)?.unmap();
});

/** Mails a file as the server could, were it hostile; or with other words, as anybody can. */
function mail(
  nonce: Uint8Array,
  fd: number,
  change?: (header: Uint32Array) => void,
  words: Uint8Array = answer,
): void {
  if (change !== undefined) {
    const mapping = mapMemory(SHM_BYTES, { fd });
    const { uint32 } = openFixedMemory(mapping.addr, HEADER_BYTES);
    uint32.set([SHM_MAGIC, SHM_VERSION, RING_BYTES]);
    change(uint32);
    unmapMemory(mapping);
  }
  assert.ok(mailUnix(mailboxName(nonce), words, [fd]) > 0);
  closeFd(fd);
}

const sealed = (): number => createSealedFile('test', SHM_BYTES);
const AS_IT_IS = (): void => undefined;
const WRONG: Readonly<Record<string, (nonce: Uint8Array) => void>> = {
  'one that can be shortened': (nonce) =>
    mail(nonce, createMemoryFile('test', SHM_BYTES), AS_IT_IS),
  'a shorter one': (nonce) => mail(nonce, createSealedFile('test', SHM_BYTES - 4096)),
  'a longer one': (nonce) => mail(nonce, createSealedFile('test', SHM_BYTES + 4096), AS_IT_IS),
  'one behind other words': (nonce) => mail(nonce, sealed(), AS_IT_IS, randomBytes(32)),
  'one behind a part of the answer': (nonce) =>
    mail(nonce, sealed(), AS_IT_IS, answer.subarray(0, 31)),
  'one behind more than the answer': (nonce) =>
    mail(nonce, sealed(), AS_IT_IS, Buffer.concat([answer, SOME])),
  'another magic': (nonce) => mail(nonce, sealed(), (header) => header.set([7], 0)),
  'another version': (nonce) => mail(nonce, sealed(), (header) => header.set([1], 1)),
  'another ring size': (nonce) => mail(nonce, sealed(), (header) => header.set([1 << 30], 2)),
  'a message without a file': (nonce) => {
    assert.ok(mailUnix(mailboxName(nonce), answer, []) > 0);
  },
};

test('shm handover: what is wrong is passed over, and the right one is found', (t) => {
  const before = readdirSync('/proc/self/fd').length;
  for (const [what, send] of Object.entries(WRONG)) {
    const nonce = randomBytes(32);
    const mailbox = new ShmMailbox(nonce, answer);
    send(nonce);
    assert.equal(mailbox.take(proof), undefined, what);
    send(nonce);
    share(t, nonce);
    const link = mailbox.take(proof);
    assert.ok(link !== undefined, what);
    link.unmap();
    mailbox.close();
  }
  assert.equal(readdirSync('/proc/self/fd').length, before, 'all were closed');
});

test('shm handover: however much others mail, it takes no place', (t) => {
  const { nonce, mailbox } = openMailbox(t);
  const nearly = Buffer.from(answer);
  nearly[31]! ^= 1;
  for (let count = 0; count < 2000; count++) {
    for (const junk of [SOME, nearly, randomBytes(9000)]) {
      assert.equal(mailUnix(mailboxName(nonce), junk, []), junk.length);
    }
  }
  share(t, nonce);
  const link = mailbox.take(proof);
  assert.ok(link !== undefined);
  link.unmap();
});
