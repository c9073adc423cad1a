import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const TIMES = 200;

test('documents: two processes that save the same one do not meet', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-documents-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'one.json');
  const journal = JSON.stringify(new URL('./journal.js', import.meta.url).href);
  const script = `
    const { saveDocument } = await import(${journal});
    const [path, folder] = process.argv.slice(1);
    for (let time = 0; time < ${TIMES}; time++) saveDocument(path, folder, { by: process.pid });
  `;
  const words = ['--input-type=module', '--eval', script, path, folder];
  await Promise.all([run(process.execPath, words), run(process.execPath, words)]);
  assert.deepEqual(readdirSync(folder), ['one.json'], 'nothing is left beside it');
  assert.deepEqual(Object.keys(JSON.parse(readFileSync(path, 'utf8')) as object), ['by']);
});
