// `npm run build:native`: compiles the C parts, and the parts in C++ where there is a compiler for
// them, into build/native/. Without a C compiler nothing is built and the exit status is 3.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isTcpxError } from '../src/base/errors.js';
import { buildTargets, compilerOf, hasCompiler, nativePaths } from './native/build.js';
import { type NativeTarget, nativeTargets } from './native/targets.js';
import { repositoryRoot } from './repository.js';

process.exitCode = await main();

async function main(): Promise<number> {
  try {
    const { version } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as {
      version: string;
    };
    const targets = nativeTargets(nativePaths(), version);
    await buildTargets(targets.filter(canBuild));
    return 0;
  } catch (error) {
    if (!isTcpxError(error)) throw error;
    process.stderr.write(`${error.code}: ${error.message}\n`);
    return error.code === 'ERR_CAP_MISSING_TOOL' ? 3 : 4;
  }
}

function canBuild(target: NativeTarget): boolean {
  const compiler = compilerOf(target);
  if (target.isCxx !== true || hasCompiler(compiler)) return true;
  process.stderr.write(`${target.name}: not built, ${compiler} not found (apt install g++)\n`);
  return false;
}
