import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import { parseToml } from './toml.js';

const PLAN = `
name = "chunks" # a comment
runs-max = 1_2
effect = 7.5
command = ["tcpx", "bench", # in several lines
  'a\\b', "say \\"#1\\"",
]

[[arm]]
name = "small"
is-safe = true
[arm.environment]
X = "1"
[[arm]]
name = "large"
`;

test('toml: tables, lists of tables, and every kind of value', () => {
  assert.deepEqual(JSON.parse(JSON.stringify(parseToml(PLAN, 'plan'))), {
    name: 'chunks',
    'runs-max': 12,
    effect: 7.5,
    command: ['tcpx', 'bench', 'a\\b', 'say "#1"'],
    arm: [{ name: 'small', 'is-safe': true, environment: { X: '1' } }, { name: 'large' }],
  });
});

test('toml: what is not known is refused with its line', () => {
  const bad = [
    ...['a = 1\na = 2', 'a', '= 1', 'a = {}', 'a = 1 2', 'a = "x', 'a = [1 2]', 'a = [1', 'a = 01'],
    ...['[a]\n[a]', 'a = 1\n[a.b]', 'a = 1\n[[a]]', 'a = 2020-01-01', 'a."b" = 1', 'a = "\\x41"'],
  ];
  for (const text of bad) {
    assert.throws(() => parseToml(text, 'plan'), withCode('ERR_USAGE_ARGUMENT'), text);
  }
  assert.throws(() => parseToml('ok = 1\nbad', 'my.toml'), /my\.toml, line 2: /);
});

test('toml: names of a prototype are names like others', () => {
  const table = parseToml('__proto__ = 1\nconstructor = 2', 'plan');
  assert.deepEqual(Object.keys(table), ['__proto__', 'constructor']);
  assert.equal(Object.getPrototypeOf(table), null);
});
