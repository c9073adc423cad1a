// `npm run build:kernels`: writes kernels/*.ptx from kernels/*.cu. Needs nvcc and ptxas.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildPtx, KERNELS_DIRECTORY, kernelBuilds, nvccRelease } from './kernel-build.js';

const release = nvccRelease();
if (release === undefined) {
  process.stderr.write('build:kernels needs nvcc; the committed kernels/*.ptx stay as they are\n');
  process.exitCode = 3;
} else {
  for (const build of kernelBuilds()) {
    const text = buildPtx(build, release);
    writeFileSync(join(KERNELS_DIRECTORY, `${build.name}.ptx`), text);
    const version = /^\.version (.+)$/m.exec(text)?.[1] ?? '?';
    process.stderr.write(`kernels/${build.name}.ptx: ISA ${version}, ${text.length} bytes\n`);
  }
}
