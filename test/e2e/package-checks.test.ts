// The packed package as tools and compilers see it: publint, are-the-types-wrong, the oldest and
// the present TypeScript, a bundler; its links; and a machine that it cannot run on.

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { ERROR_CODES } from '../../src/base/errors.js';
import { SETTING_NAMES, settingOf } from '../../src/base/settings.js';
import { packageRoot, runChild } from './child.js';
import { compileStrict, openPackedProject, type PackedProject } from './packed-project.js';

let project: PackedProject;
let folder = '';
let installed = '';

before(async () => {
  project = await openPackedProject();
  ({ folder, installed } = project);
});
after(() => project.remove());

function shipped(pattern: RegExp): string[] {
  return readdirSync(installed, { recursive: true, encoding: 'utf8' }).filter((path) =>
    pattern.test(path),
  );
}

function read(path: string): string {
  return readFileSync(join(installed, path), 'utf8');
}

describe('package: checked by tools', () => {
  test('publint finds nothing, not even to suggest', async () => {
    const { messages } = await publint({ pkgDir: installed, level: 'suggestion', strict: true });
    const manifest = JSON.parse(read('package.json')) as Record<string, unknown>;
    assert.deepEqual(
      messages.map((message) => formatMessage(message, manifest)),
      [],
    );
  });

  test('are-the-types-wrong finds nothing in what ESM can import', async () => {
    const attw = join(packageRoot, 'node_modules/@arethetypeswrong/cli/dist/index.js');
    const words = [
      attw,
      project.archive,
      '--profile',
      'esm-only',
      '--format',
      'ascii',
      '--no-emoji',
    ];
    const { exitCode, stdout, stderr } = await runChild(process.execPath, words);
    assert.equal(exitCode, 0, stdout + stderr);
  });

  // The oldest that we name, and the newest; in between lies the one that ESLint reads all by.
  for (const compiler of ['typescript-oldest', 'typescript-native']) {
    for (const [module, resolution] of [
      ['nodenext', 'nodenext'],
      ['esnext', 'bundler'],
    ] as const) {
      test(`${compiler}, ${resolution}: the types compile under strict`, async () => {
        const source =
          "import * as all from 'nixl-tcpx';\nimport type { Receipt } from 'nixl-tcpx';\n" +
          'export async function send(): Promise<Receipt> {\n' +
          '  const engine = await all.Engine.open();\n' +
          "  const session = await engine.connect('127.0.0.1', engine.listen({ port: 0 }));\n" +
          "  const remote = await session.lookup('inbox');\n" +
          '  // @ts-expect-error belongs to the engine\n' +
          '  session.write({ local: Buffer.alloc(8), remote }).settle;\n' +
          '  // @ts-expect-error belongs to the engine\n' +
          '  session.recovery;\n' +
          '  return await session.write({ local: Float32Array.of(1), remote });\n}\n';
        const file = join(folder, 'use.ts');
        writeFileSync(file, source);
        assert.equal(await compileStrict(project, [file], compiler, [module, resolution]), '');
      });
    }
  }
});

describe('package: refers to nothing that it does not hold', () => {
  test('no source map is named', () => {
    const naming = shipped(/\.(c?js|ts)$/).filter((path) =>
      read(path).includes('sourceMappingURL'),
    );
    assert.deepEqual(naming, []);
  });

  test('every link of the README leads somewhere', () => {
    assert.deepEqual(lostLinks('README.md'), []);
  });

  test('every link of the pages for users leads somewhere', () => {
    const listed = read('docs/README.md')
      .split(/^## /m)
      .find((part) => part.startsWith('To use'));
    const pages = [...(listed ?? '').matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, page]) => page ?? '');
    assert.ok(pages.length > 8, pages.join(' '));
    assert.deepEqual(
      pages.flatMap((page) => lostLinks(`docs/${page}`)),
      [],
    );
  });

  function lostLinks(page: string): string[] {
    const targets = [...read(page).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, target = '']) =>
      join(dirname(page), target),
    );
    return targets.filter((target) => !existsSync(join(installed, target)));
  }

  test('every page that an error or a setting cites is there', () => {
    const texts = [
      ...Object.values(ERROR_CODES).map(({ remedy }) => remedy),
      ...SETTING_NAMES.map((name) => `${settingOf(name).summary} ${settingOf(name).cost}`),
      ...shipped(/^dist\/.*\.c?js$/).flatMap((path) => read(path).match(/'[^'\n]*'/g) ?? []),
    ];
    const pages = texts.flatMap((text) => text.match(/\bdocs\/[\w/-]+\.md\b/g) ?? []);
    assert.ok(pages.includes('docs/api.md'), pages.join(' '));
    assert.deepEqual(
      pages.filter((page) => !existsSync(join(installed, page))),
      [],
    );
  });

  test('the man page is the one of the manifest', () => {
    const { man } = JSON.parse(read('package.json')) as { man: string };
    assert.match(read(man), /^\.TH TCPX 1 /m);
  });
});

describe('package: bundled', () => {
  const entry = "import { Engine } from 'nixl-tcpx';\nconsole.log(typeof Engine.open);\n";

  async function bundle(name: string, format: 'esm' | 'cjs', external: string[]) {
    const outfile = join(folder, name);
    writeFileSync(join(folder, 'entry.mjs'), entry);
    await build({
      entryPoints: [join(folder, 'entry.mjs')],
      ...{ bundle: true, platform: 'node', logLevel: 'silent', format, outfile, external },
    });
    return runChild(process.execPath, [outfile], { cwd: folder });
  }

  test('as an external package it works', async () => {
    const { exitCode, stdout, stderr } = await bundle('external.mjs', 'esm', ['nixl-tcpx']);
    assert.equal(exitCode, 0, stderr);
    assert.equal(stdout, 'function\n');
  });

  for (const [name, format] of [
    ['whole.mjs', 'esm'],
    ['whole.cjs', 'cjs'],
  ] as const) {
    test(`bundled into one file (${format}) it says what to do`, async () => {
      const { exitCode, stderr } = await bundle(name, format, ['koffi']);
      assert.equal(exitCode, 1);
      assert.match(stderr, /it was bundled\. Name nixl-tcpx as external/);
      assert.match(stderr, /ERR_CAP_BUNDLED/);
    });
  }
});

describe('package: on a machine that it cannot run on', () => {
  const elsewhere =
    'data:text/javascript,Object.defineProperty(process, "platform", { value: "darwin" });';

  test('the import fails with its code, and the FFI library was not loaded', async () => {
    const index = pathToFileURL(join(installed, 'dist/src/index.js')).href;
    const script =
      "import { createRequire } from 'node:module';\n" +
      `const error = await import('${index}').catch((reason) => reason);\n` +
      "const loaded = Object.keys(createRequire('/').cache).filter((p) => p.includes('koffi'));\n" +
      'console.log(error.code, error.message, loaded.length);\n';
    writeFileSync(join(folder, 'import.mjs'), script);
    const words = ['--import', elsewhere, 'import.mjs'];
    const { stdout, stderr } = await runChild(process.execPath, words, { cwd: folder });
    assert.equal(stderr, '');
    assert.match(stdout, /^ERR_CAP_PLATFORM nixl-tcpx runs on Linux .*this is darwin \w+ 0\n$/);
  });

  test('the command says so in one line, exit 3, and as a document', async () => {
    const words = ['--import', elsewhere, join(installed, 'bin/tcpx.js'), 'config', '--json'];
    const { exitCode, stdout, stderr } = await runChild(process.execPath, words);
    assert.equal(exitCode, 3);
    assert.match(stderr, /^ERR_CAP_PLATFORM: .*this is darwin \w+\n$/);
    assert.equal((JSON.parse(stdout) as { schema: string }).schema, 'tcpx.error/1');
  });
});
