// Typed rules for all code; the strict profile for *.hot.ts keeps allocation out of the chunk loop.
import tseslint from 'typescript-eslint';

const HOT_BANNED = [
  'NewExpression',
  'ObjectExpression',
  'ArrayExpression',
  'ArrowFunctionExpression',
  ':not(MethodDefinition) > FunctionExpression',
  'SpreadElement',
  'TemplateLiteral',
  'AwaitExpression',
  'TryStatement',
  'Literal[bigint]',
].map((selector) => ({
  selector,
  message: 'Allocates or unwinds per chunk: move it to the sibling file without .hot.',
}));

const NO_DEFAULT_EXPORT = {
  selector: 'ExportDefaultDeclaration',
  message: 'Name what you export.',
};
const NAMED_REPORTER = {
  selector:
    'ArrayExpression:has(> Literal[value="--test"])' +
    ':not(:has(> Literal[value=/^--test-reporter=/]))' +
    ':not(:has(TemplateElement[value.raw=/^--test-reporter=/]))',
  message: 'Say --test-reporter=: what node prints without it differs from release to release.',
};
const NODES_RECURSION = {
  selector:
    'CallExpression:matches([callee.name=/^mkdir/], [callee.property.name=/^mkdir/])' +
    ' Property[key.name="recursive"]',
  message: 'Never returns below /proc: makeFolder of base/make-folder.ts does.',
};
const BENCH_WHEN_RUN = {
  selector:
    'ImportDeclaration[importKind="value"][source.value=/^[.]{2}.[.]{2}.(bench|engine)\\b/]',
  message: 'Import it in run(): every other command would load the engine to print its help.',
};
/** Older than the limit: what each of these may have at most. New code keeps to the limit. */
const COMPLEX = {
  '**/data-frame.hot.ts': 37,
  '**/etcd-watch.ts': 21,
  '**/sim-job.ts': 18,
  '**/hostile-scripts.ts': 17,
};
const MANY_PARAMETERS = { '**/futex.ts': 7, '**/gpu-unpack.hot.ts': 7 };

function upTo(rule, offenders) {
  return Object.entries(offenders).map(([glob, max]) => ({
    files: [glob],
    rules: { [rule]: ['error', max] },
  }));
}

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', 'bin/', 'eslint.config.js', 'build/'] },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { project: './tsconfig.json' } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/strict-boolean-expressions': 'error',
      // There are no enums, which `erasableSyntaxOnly` refuses, and it is a sixth of all the time.
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-floating-promises': [
        'error',
        {
          allowForKnownSafeCalls: [
            { from: 'package', package: 'node:test', name: ['test', 'describe', 'it', 'suite'] },
          ],
        },
      ],
      'no-restricted-imports': [
        'error',
        { paths: [{ name: 'koffi', message: 'FFI lives in src/ffi only.' }] },
      ],
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Read settings through base/config.ts.' },
        { object: 'process', property: 'exit', message: 'Only cli/ ends the process.' },
      ],
      'no-restricted-syntax': ['error', NO_DEFAULT_EXPORT, NAMED_REPORTER],
      'max-lines': ['error', 400],
      'max-lines-per-function': ['error', 70],
      'max-depth': ['error', 4],
      'max-params': ['error', 6],
      complexity: ['error', 16],
    },
  },
  {
    files: ['src/ffi/**/*.ts'],
    rules: {
      'no-restricted-imports': 'off',
      '@typescript-eslint/no-explicit-any': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
    },
  },
  {
    files: [
      'src/cli/**/*.ts',
      'scripts/**/*.ts',
      'src/base/config.ts',
      'test/**/*.ts',
      '**/*.test.ts',
      'test/support/**/*.ts',
    ],
    rules: { 'no-restricted-properties': 'off' },
  },
  {
    // Typed-array reads are possibly undefined to the compiler; here they are in range by layout.
    files: ['**/*.hot.ts', 'src/wire/**/*.ts', 'test/**/*.ts', '**/*.test.ts'],
    rules: { '@typescript-eslint/no-non-null-assertion': 'off' },
  },
  ...upTo('complexity', COMPLEX),
  ...upTo('max-params', MANY_PARAMETERS),
  {
    files: ['**/cli/commands/*.ts'],
    ignores: ['**/*.test.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        NO_DEFAULT_EXPORT,
        NAMED_REPORTER,
        NODES_RECURSION,
        BENCH_WHEN_RUN,
      ],
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['**/*.test.ts', '**/*.hot.ts', '**/cli/commands/*.ts'],
    rules: {
      'no-restricted-syntax': ['error', NO_DEFAULT_EXPORT, NAMED_REPORTER, NODES_RECURSION],
    },
  },
  { files: ['**/*.hot.ts'], rules: { 'no-restricted-syntax': ['error', ...HOT_BANNED] } },
);
