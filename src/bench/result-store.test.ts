// The store of results: what is kept, found, replaced and refused.

import assert from 'node:assert/strict';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, beforeEach, describe, test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import type { BenchResult } from './bench-result.js';
import { ResultStore, storeFolder } from './result-store.js';
import { temporaryHome } from './temporary-home.js';

const made: string[] = [];
let folder = '';
let store = new ResultStore('/nowhere', 0);

function result(recordedAt: string, fields: Partial<BenchResult> = {}): BenchResult {
  const bare = { schema: 'tcpx.bench/1', ok: true, op: 'write', recordedAt, ...fields };
  return bare as BenchResult;
}

function day(number: number): string {
  return `2026-01-0${number}T10:20:30.000Z`;
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tcpx-store-'));
  made.push(folder);
  store = new ResultStore(folder, 3);
});
after(() => {
  for (const one of made) rmSync(one, { recursive: true, force: true });
});

describe('result store: place', () => {
  test('what is set, else the state folder of the user', () => {
    assert.equal(storeFolder('/x', { XDG_STATE_HOME: '/s' }), '/x');
    assert.equal(storeFolder('', { XDG_STATE_HOME: '/s' }), '/s/nixl-tcpx/bench');
    assert.equal(storeFolder('', { HOME: '/h' }), '/h/.local/state/nixl-tcpx/bench');
    // A relative path in that variable is to be ignored, says its specification.
    const relative = { XDG_STATE_HOME: 's', HOME: '/h' };
    assert.equal(storeFolder('', relative), '/h/.local/state/nixl-tcpx/bench');
  });
});

describe('result store: of a user without a home', () => {
  const before = process.env['TMPDIR'];
  const inTemporary = (): ResultStore => {
    process.env['TMPDIR'] = folder;
    return new ResultStore(join(temporaryHome(), '.local/state'), 3);
  };
  afterEach(() => {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  });

  test('the folder is made for this user alone', () => {
    const own = inTemporary();
    assert.deepEqual(own.list(), []);
    const kept = own.save(result(day(1)));
    assert.equal(statSync(temporaryHome()).mode & 0o777, 0o700);
    assert.deepEqual(own.find('latest'), [kept]);
  });

  test('one that others may use, or a link, is neither written nor read', () => {
    const own = inTemporary();
    own.save(result(day(1)));
    const file = join(folder, 'own.json');
    writeFileSync(file, JSON.stringify(result(day(2))));
    chmodSync(temporaryHome(), 0o770);
    const open = withCode('ERR_CAP_PERMISSION', /nixl-tcpx-.*others may use it \(chmod 700\)/);
    for (const use of [
      () => own.save(result(day(3))),
      () => own.saveBaseline('b', [result(day(3))]),
      () => own.list(),
      () => own.find('latest'),
      () => own.baselines(),
    ]) {
      assert.throws(use, open);
    }
    assert.equal(own.find(file).length, 1, 'a file that is named is not of the store');
    rmSync(temporaryHome(), { recursive: true });
    symlinkSync(mkdtempSync(join(folder, 'elsewhere-')), temporaryHome());
    const foreign = withCode('ERR_CAP_PERMISSION', /it is no folder of this user/);
    assert.throws(() => own.save(result(day(3))), foreign);
  });
});

describe('result store: keeping', () => {
  test('a result gets a name that sorts by time, and is read back whole', () => {
    const kept = store.save(result(day(1), { iterations: 7 }));
    assert.match(kept.id ?? '', /^20260101-102030-write-[0-9a-f]{6}$/);
    assert.deepEqual(store.find('latest'), [kept]);
    assert.equal(store.find('latest')[0]?.iterations, 7);
  });

  test('the oldest give way, files of others do not', () => {
    writeFileSync(join(folder, 'notes.json'), '{}');
    const ids = [1, 2, 3, 4, 5].map((number) => store.save(result(day(number))).id);
    assert.deepEqual(
      store.list().map(({ id }) => id),
      ids.slice(2).reverse(),
    );
    assert.ok(readdirSync(folder).includes('notes.json'));
  });

  test('0 keeps nothing and makes no folder', () => {
    const none = new ResultStore(join(folder, 'none'), 0);
    assert.equal(none.save(result(day(1))).id, undefined);
    assert.deepEqual(none.list(), []);
    assert.ok(!readdirSync(folder).includes('none'));
  });
});

describe('result store: finding', () => {
  test('latest, the one before, an id, its beginning, several, a file, a baseline', () => {
    const [first, second] = [store.save(result(day(1))), store.save(result(day(2)))];
    assert.deepEqual(store.find('latest'), [second]);
    assert.deepEqual(store.find('latest~1'), [first]);
    assert.deepEqual(store.find(first.id ?? ''), [first]);
    assert.deepEqual(store.find('20260101'), [first]);
    assert.deepEqual(store.find('latest,latest~1'), [second, first]);
    const file = join(folder, 'elsewhere.json');
    writeFileSync(file, JSON.stringify(result(day(3))));
    assert.deepEqual(store.find(file), [result(day(3))]);
    writeFileSync(file, JSON.stringify({ schema: 'tcpx.bench-runs/1', runs: [first, second] }));
    assert.deepEqual(store.find(file), [first, second]);
    store.saveBaseline('good', [first, second]);
    assert.deepEqual(store.find('good'), [first, second]);
  });

  test('what is not there, or is several, is refused by name', () => {
    store.save(result(day(1)));
    store.save(result(day(2)));
    store.saveBaseline('nightly', [result(day(3))]);
    const refused = (name: string, text: RegExp) =>
      assert.throws(() => store.find(name), withCode('ERR_USAGE_ARGUMENT', text));
    refused('nightl', /did you mean nightly/);
    refused('latest~2', /2 results/);
    refused('2026010', /2 results begin with/);
    refused('', /no result/);
    refused(join(folder, 'gone.json'), /gone\.json/);
  });

  test('files that are no results are refused; of a newer version, with the version', () => {
    const refused = (document: string, text: RegExp) => {
      const file = join(folder, 'odd.json');
      writeFileSync(file, document);
      assert.throws(() => store.find(file), withCode('ERR_USAGE_ARGUMENT', text));
    };
    refused('{', /odd\.json/);
    refused('[]', /no result/);
    refused('{"schema":"tcpx.error/1"}', /tcpx\.error\/1/);
    refused('{"schema":"tcpx.bench/2"}', /tcpx\.bench\/2.*newer/);
  });

  test('a damaged file in the store is left out of the list and does not hide the others', () => {
    const kept = store.save(result(day(1)));
    writeFileSync(join(folder, '20260102-102030-write-abcdef.json'), '{"schema":');
    assert.deepEqual(store.list(), [kept]);
  });

  test('nothing kept: an empty list', () => {
    assert.deepEqual(new ResultStore(join(folder, 'none'), 3).list(), []);
  });
});

describe('result store: baselines', () => {
  test('a baseline is a folder of results and replaces the one before', () => {
    store.saveBaseline('a', [result(day(1)), result(day(2)), result(day(3))]);
    const files = store.saveBaseline('a', [result(day(4)), result(day(5))]);
    assert.deepEqual(files, [
      join(folder, 'baselines', 'a', '1.json'),
      join(folder, 'baselines', 'a', '2.json'),
    ]);
    assert.equal(store.find('a').length, 2);
    assert.deepEqual(store.baselines(), ['a']);
  });

  test('retention leaves baselines alone', () => {
    store.saveBaseline('a', [result(day(1))]);
    for (const number of [1, 2, 3, 4, 5]) store.save(result(day(number)));
    assert.equal(store.find('a').length, 1);
  });

  test('a name that is no plain word is refused', () => {
    for (const name of ['', '../x', 'a/b', '.hidden', 'latest', 'x'.repeat(80), 'a,b']) {
      assert.throws(
        () => store.saveBaseline(name, [result(day(1))]),
        withCode('ERR_USAGE_ARGUMENT', /name/),
      );
    }
  });

  test('a folder that cannot be written is said so', () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const blocked = new ResultStore(join(file, 'below'), 3);
    assert.throws(() => blocked.save(result(day(1))), withCode('ERR_SYS_CALL', /below/));
  });
});
