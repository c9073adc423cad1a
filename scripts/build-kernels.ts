// `npm run build:kernels`: writes kernels/*.ptx from kernels/*.cu. Needs nvcc and ptxas.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildPtx, KERNELS_DIRECTORY, kernelNames, nvccRelease } from './kernel-build.js';

const release = nvccRelease();
if (release === undefined) {
  process.stderr.write('build:kernels needs nvcc; the committed kernels/*.ptx stay as they are\n');
  process.exitCode = 3;
} else {
  for (const kernel of kernelNames()) {
    const text = buildPtx(kernel, release);
    writeFileSync(join(KERNELS_DIRECTORY, `${kernel}.ptx`), text);
    const version = /^\.version (.+)$/m.exec(text)?.[1] ?? '?';
    process.stderr.write(`kernels/${kernel}.ptx: ISA ${version}, ${text.length} bytes\n`);
  }
}
