import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { repositoryRoot } from '../../scripts/repository.js';
import { BenchDialogue } from '../bench/bench-message.js';
import { printJson, printText } from '../cli/print.js';
import { escapeXml } from '../host/topo/svg-shapes.js';
import { agentNameProblem } from '../nixl/names.js';
import { ByteReader, ByteWriter } from '../wire/byte-cursor.js';
import { hasUnseen, plainJson, plainLines, plainText, withoutUnseen } from './foreign-text.js';
import { createLog } from './log.js';

/** Clears the screen, forges a line, turns the text around, hides, ends a line for some. */
const HOSTILE = [
  '\u001b[2J',
  '\n',
  '\r',
  '\u202e',
  '\u200b',
  '\ufeff',
  '\u2028',
  '\u009b',
  '\u007f',
];
const NAME = `a${HOSTILE.join('b')}c`;
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

test('foreign text: what does not show is written out, everything else stays', () => {
  assert.equal(plainText('Zoë 中文 → 😀 a\u202eb'), 'Zoë 中文 → 😀 a\\u202eb');
  assert.equal(plainText('\u{e0041}'), '\\udb40\\udc41', 'beyond 16 bits too');
  assert.equal(plainText('\ud800'), '\\ud800');
  assert.equal(plainLines('one\n\ttwo\u001b[2J\r'), 'one\n\ttwo\\u001b[2J\\u000d');
  assert.ok(!UNSEEN.test(plainText(NAME)));
  assert.ok(hasUnseen(NAME) && !hasUnseen('Zoë 😀') && !UNSEEN.test(withoutUnseen(NAME)));
  assert.deepEqual(JSON.parse(plainJson({ name: NAME })), { name: NAME }, 'JSON says the same');
});

test('foreign text: a log line is one line, in both formats', () => {
  for (const format of ['text', 'json'] as const) {
    const lines: string[] = [];
    const log = createLog({ level: 'warn', format, write: (line) => lines.push(line) });
    log.warn('peer refused', { peer: NAME, [NAME]: 1 });
    assert.equal(lines.length, 1);
    assert.ok(!UNSEEN.test(lines.join('').replace(/\n$/, '')), lines.join(''));
  }
});

/** What `print` writes, on either stream. */
function written(print: () => void): string {
  let text = '';
  const streams = [process.stdout, process.stderr] as const;
  const writes = streams.map((stream) => stream.write.bind(stream));
  for (const stream of streams) {
    stream.write = (chunk: unknown) => {
      text += String(chunk);
      return true;
    };
  }
  try {
    print();
  } finally {
    for (const [index, stream] of streams.entries()) stream.write = writes[index]!;
  }
  return text;
}

test('foreign text: what commands print, draw and take in', async () => {
  const printed = written(() => printText(`host ${NAME}`)) + written(() => printJson({ NAME }));
  assert.ok(!UNSEEN.test(printed.replaceAll('\n', '')), printed);
  assert.ok(!UNSEEN.test(escapeXml(NAME)));
  assert.equal(escapeXml(`<a href='x'>&"`), '&lt;a href=&#39;x&#39;&gt;&amp;&quot;');
  for (const part of HOSTILE) {
    assert.ok(agentNameProblem(`x${part}`) !== undefined, JSON.stringify(part));
    const bytes = new ByteWriter(64).text(`x${part}y`).finish();
    assert.ok(!UNSEEN.test(new ByteReader(bytes, 'a text').text(64)), JSON.stringify(part));
    const raw = Buffer.from(`xx${part}`);
    raw.writeUInt16LE(raw.length - 2);
    assert.throws(() => new ByteReader(raw, 'a text').text(64), JSON.stringify(part));
  }
  const dialogue = new BenchDialogue(() => undefined);
  dialogue.receive({ kind: 'failed', reason: NAME });
  const isPlain = (error: unknown) => error instanceof Error && !UNSEEN.test(error.message);
  await assert.rejects(dialogue.ask({ kind: 'count' }, 'counted', 10), isPlain);
});

test('foreign text: commands write through print.ts and nothing else', () => {
  const folder = join(repositoryRoot, 'src');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))) {
    if (file === join('cli', 'print.ts')) continue;
    // Examples in comments write as their readers would.
    const text = readFileSync(join(folder, file), 'utf8').replaceAll(/^ *(\*|\/\/).*$/gm, '');
    assert.ok(
      !/\bprocess\.std(out|err)\.write\(|\bconsole\.\w+\(/.test(text),
      `${file} writes by itself`,
    );
  }
});
