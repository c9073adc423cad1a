// Contract of providers, part two: notifications.

import assert from 'node:assert/strict';
import { isTcpxError } from '../../src/base/errors.js';
import { blocksOf, type Row, told, withPlaces } from './provider-world.js';

const MANY = 20;
const NOTIFICATION_BYTES_MAX = 65_536;

export function notificationRows(row: Row): void {
  row('a notification comes after every byte of its write, once', async (h, open) => {
    const pair = await open('usual');
    await withPlaces(pair, h.sizes.at(-1) ?? 0, async ({ local, remote }) => {
      local.fill(21);
      remote.fill(22);
      const transfer = pair.session.write(blocksOf(local, remote), { notify: 'landed' });
      const { done } = transfer;
      done.catch(() => undefined);
      assert.deepEqual(await told(pair, 1), ['landed']);
      assert.equal(remote.mismatches(21), 0, 'every byte was there before');
      await pair.drive(done);
      await pair.pause(20);
      assert.deepEqual(pair.notifications, []);
    });
  });

  row('a notification with a read tells the owner once the bytes are here', async (_, open) => {
    const pair = await open('usual');
    await withPlaces(pair, 300_001, async ({ local, remote }) => {
      remote.fill(31);
      const read = pair.session.read(blocksOf(local, remote), { notify: 'taken' });
      await pair.drive(read.done);
      assert.equal(local.mismatches(31), 0);
      assert.deepEqual(await told(pair, 1), ['taken']);
    });
  });

  row(
    'a notification alone has a receipt; 0 and 65,536 bytes fit, more is refused',
    async (_, o) => {
      const pair = await o('usual');
      for (const bytes of [0, 1, NOTIFICATION_BYTES_MAX]) {
        const receipt = await pair.drive(pair.session.notify(new Uint8Array(bytes).fill(97)).done);
        assert.equal(receipt.operation, 'notify');
        assert.equal(receipt.bytes, bytes);
        assert.deepEqual(await told(pair, 1), ['a'.repeat(bytes)]);
      }
      const tooMany = new Uint8Array(NOTIFICATION_BYTES_MAX + 1);
      const isRefused = (error: unknown): boolean => isTcpxError(error, 'ERR_USAGE_ARGUMENT');
      assert.throws(() => pair.session.notify(tooMany), isRefused);
      await withPlaces(pair, 64, ({ local, remote }) => {
        const write = () => pair.session.write(blocksOf(local, remote), { notify: tooMany });
        assert.throws(write, isRefused);
        return Promise.resolve();
      });
    },
  );

  row('what is posted after the end of another is told after it', async (_, open) => {
    const pair = await open('usual');
    await withPlaces(pair, 4096, async ({ local, remote }) => {
      const expected: string[] = [];
      for (let index = 0; index < MANY; index++) {
        expected.push(String(index));
        const kind = index % 3;
        const notify = String(index);
        const blocks = blocksOf(local, remote);
        if (kind === 0) await pair.drive(pair.session.notify(notify).done);
        else if (kind === 1) await pair.drive(pair.session.write(blocks, { notify }).done);
        else await pair.drive(pair.session.read(blocks, { notify }).done);
      }
      assert.deepEqual(await told(pair, MANY), expected);
    });
  });
}
