import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installationFacts, installationProblem } from './installation.js';

const here = installationFacts(import.meta.url);

test('installation: this machine is fine, and so is arm64', () => {
  assert.equal(installationProblem(here), undefined);
  assert.equal(installationProblem({ ...here, arch: 'arm64' }), undefined);
  assert.equal(installationProblem({ ...here, programHead: '' }), undefined, 'unknown is not bad');
});

test('installation: another system, processor or C library is named', () => {
  const cases = [
    [{ ...here, platform: 'darwin' }, /this is darwin/],
    [{ ...here, arch: 'ia32' }, /this is linux ia32/],
    [{ ...here, programHead: '\u007fELF…/lib/ld-musl-x86_64.so.1' }, /musl, as on Alpine/],
  ] as const;
  for (const [facts, expected] of cases) {
    const problem = installationProblem(facts);
    assert.equal(problem?.code, 'ERR_CAP_PLATFORM');
    assert.match(problem.message, expected);
  }
});

test('installation: code without its worker files was bundled', () => {
  const cases = [
    { moduleUrl: undefined },
    { moduleUrl: 'file:///nowhere/bundle.js' },
    { isInWebpack: true },
  ];
  for (const change of cases) {
    const problem = installationProblem({ ...here, ...change });
    assert.equal(problem?.code, 'ERR_CAP_BUNDLED');
    assert.match(problem.message, /external/);
  }
});
