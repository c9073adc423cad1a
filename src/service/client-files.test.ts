import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { closeFd } from '../ffi/libc/file-descriptor.js';
import { createSealedFile } from '../ffi/libc/memory-file.js';
import { ClientFiles } from './client-files.js';

test('client files: two parts of a file have one name, until the last is closed', () => {
  const files = new ClientFiles();
  const fd = createSealedFile('test', 8192);
  const shares = [files.share(fd, 0, 4096), files.share(fd, 4096, 4096)];
  const other = createSealedFile('test', 8192);
  const elsewhere = files.share(other, 0, 8192);
  closeFd(fd);
  closeFd(other);
  const paths = [...shares, elsewhere].map(({ shared }) => {
    assert.equal(shared.way, 'shared');
    assert.equal(shared.fileBytes, 8192);
    return shared.path;
  });
  const [path = ''] = paths;
  assert.equal(paths[1], path);
  assert.notEqual(paths[2], path);
  shares[0]?.close();
  assert.ok(existsSync(path), 'the second part still needs it');
  shares[1]?.close();
  assert.ok(!existsSync(path));
  elsewhere.close();
});
