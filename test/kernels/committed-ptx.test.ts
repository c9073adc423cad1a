// The committed PTX must be what the sources give; the digest part needs no compiler.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  assemble,
  buildPtx,
  KERNELS_DIRECTORY,
  kernelBuilds,
  nvccRelease,
  sourceDigest,
  targetsOf,
} from '../../scripts/kernel-build.js';

const ISA_NEWEST = 7.8;

function committed(kernel: string): string {
  return readFileSync(join(KERNELS_DIRECTORY, `${kernel}.ptx`), 'utf8');
}

for (const build of kernelBuilds()) {
  const { name: kernel, compute } = build;

  test(`kernel ${kernel}: PTX carries the digest of its source`, () => {
    const digest = /^\/\/ source: (\w+)$/m.exec(committed(kernel))?.[1];
    assert.equal(digest, sourceDigest(build), 'run npm run build:kernels');
  });

  test(`kernel ${kernel}: PTX is for compute_${compute} and ISA ${ISA_NEWEST} or older`, () => {
    const text = committed(kernel);
    const version = Number(/^\.version (.+)$/m.exec(text)?.[1]);
    assert.ok(version >= 7 && version <= ISA_NEWEST, `.version ${version}`);
    assert.ok(text.includes(`\n.target sm_${compute}\n`));
  });

  test(`kernel ${kernel}: PTX is what nvcc makes of the source`, (t) => {
    const release = nvccRelease();
    if (release === undefined) {
      t.skip('needs nvcc');
      return;
    }
    const text = committed(kernel);
    const made = /^\/\/ nvcc: (.+)$/m.exec(text)?.[1];
    if (made !== release) {
      t.skip(`needs nvcc ${made ?? '?'}, the one that made the PTX; here is ${release}`);
      return;
    }
    assert.equal(buildPtx(build, release), text, 'run npm run build:kernels');
  });

  test(`kernel ${kernel}: PTX assembles for ${targetsOf(build).join(', ')}`, (t) => {
    if (nvccRelease() === undefined) {
      t.skip('needs nvcc');
      return;
    }
    for (const target of targetsOf(build)) {
      assert.equal(assemble(target, join(KERNELS_DIRECTORY, `${kernel}.ptx`)), '');
    }
  });
}
