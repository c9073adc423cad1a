import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkDocsIndex, checkGenerated, checkLinks } from './docs.js';
import { anchorsOf, linksOf, slugOf } from './markdown.js';

function files(pages: Readonly<Record<string, string>>) {
  return Object.entries(pages).map(([path, text]) => ({ path, text }));
}

test('docs index: each page and decision is listed exactly once', () => {
  const pages = { 'docs/a.md': '', 'docs/decisions/0001-x.md': '', 'docs/deep/er/b.md': '' };
  const once = '[a](a.md#x) [x](decisions/0001-x.md)';
  assert.deepEqual(checkDocsIndex(files({ ...pages, 'docs/README.md': once })), []);
  const twice = '[a](a.md) [again](./a.md)';
  assert.deepEqual(
    checkDocsIndex(files({ ...pages, 'docs/README.md': twice })).map(({ path }) => path),
    ['docs/a.md', 'docs/decisions/0001-x.md'],
  );
});

test('links: files, folders, anchors and other schemes are alive', () => {
  const page =
    '# Top\n[a](docs/a.md) [b](docs/a.md#two-words) [c](docs) [d](docs/) [e](#top)\n' +
    '[f](https://example.org/x) ![g](docs/p.png "title")\n[h]: docs/a.md\n';
  const tree = { 'README.md': page, 'docs/a.md': '## Two words\n', 'docs/p.png': '' };
  assert.deepEqual(checkLinks(files(tree)), []);
});

test('links: a missing file, a missing anchor and an absolute path are dead', () => {
  const page = '[a](docs/b.md)\n[b](docs/a.md#nope)\n[c](/docs/a.md)\n[d](#nope)\n[e]: gone.md\n';
  const found = checkLinks(files({ 'README.md': page, 'docs/a.md': '# A\n' }));
  assert.deepEqual(
    found.map(({ line }) => line),
    [1, 2, 3, 4, 5],
  );
});

test('markdown: links in code are not links', () => {
  const text = '```\n[a](x.md)\n```\n`[b](y.md)` and [c](z.md)\n~~~sh\n[d](w.md)\n~~~\n';
  assert.deepEqual(linksOf(text), [{ target: 'z.md', line: 4 }]);
});

test('markdown: slugs follow GitHub', () => {
  assert.equal(slugOf('Two words, and more!'), 'two-words-and-more');
  assert.equal(slugOf('`flow.chunkBytes`'), 'flowchunkbytes');
  assert.equal(slugOf('READ & WRITE'), 'read--write');
  assert.equal(slugOf('[Link](x.md) text'), 'link-text');
  assert.equal(slugOf('snake_case – Größe'), 'snake_case--größe');
});

test('markdown: repeated headings count up, headings in code do not exist', () => {
  const text = '# A\n## A\n```\n# B\n```\n<a id="own"></a>\n';
  assert.deepEqual([...anchorsOf(text)], ['a', 'a-1', 'own']);
});

test('generated: a page that differs from its generator is out of date', () => {
  const generators = [{ path: 'docs/a.md', render: () => '# A\n\ntext\n' }];
  assert.deepEqual(checkGenerated(files({ 'docs/a.md': '# A\n\ntext\n' }), generators), []);
  const [stale] = checkGenerated(files({ 'docs/a.md': '# A\n\nother\n' }), generators);
  assert.equal(stale?.line, 3);
  assert.equal(checkGenerated([], generators).length, 1);
});

test('generated: a block is compared between its marks and a page without them is refused', () => {
  const generators = [{ path: 'docs/a.md', marker: 'm', render: () => 'new' }];
  const page = (block: string) =>
    `# A\n<!-- generated:m -->\n\n${block}\n\n<!-- /generated:m -->\nend\n`;
  assert.deepEqual(checkGenerated(files({ 'docs/a.md': page('new') }), generators), []);
  assert.match(
    checkGenerated(files({ 'docs/a.md': page('old') }), generators)[0]?.message ?? '',
    /npm run docs/,
  );
  assert.match(
    checkGenerated(files({ 'docs/a.md': '# A\n' }), generators)[0]?.message ?? '',
    /generated:m/,
  );
});
