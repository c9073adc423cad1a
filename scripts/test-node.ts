// `npm run test:node`: the test suite, or the files named, under the newest Node of every release
// line that we promise.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { NODE_MAJORS, nodeBinary } from './suite/node-binary.js';
import { readCount, readWords, refuse } from './words.js';

const USAGE = `npm run test:node [-- FLAGS] [FILTER…]
  --major N  this release line alone, may be repeated; of ${NODE_MAJORS.join(', ')}`;
const SUITE = fileURLToPath(new URL('test.js', import.meta.url));

const { values, positionals } = readWords(USAGE, {
  options: { major: { type: 'string', multiple: true } },
  allowPositionals: true,
});
const majors = values.major?.map((text) => readCount('--major', text)) ?? NODE_MAJORS;
const unknown = majors.find((major) => !NODE_MAJORS.includes(major));
if (unknown !== undefined) refuse(`--major ${unknown}: one of ${NODE_MAJORS.join(', ')} is wanted`);
const outcomes = majors.map((major) => ({ major, outcome: runSuite(major) }));
for (const { major, outcome } of outcomes) process.stdout.write(`Node ${major}: ${outcome}\n`);
process.exitCode = outcomes.every(({ outcome }) => outcome === 'good') ? 0 : 1;

function runSuite(major: number): string {
  let node: string;
  try {
    node = nodeBinary(major);
  } catch (error) {
    return `not run: ${error instanceof Error ? error.message : String(error)}`;
  }
  const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim();
  process.stdout.write(`\nNode ${version}\n`);
  // The suite's own look at the other release lines would come to the same thing once more.
  const words = [SUITE, '--except', 'node-versions', ...positionals];
  const { status } = spawnSync(node, words, { stdio: 'inherit' });
  return status === 0 ? 'good' : `failed, exit code ${status ?? 'none'}`;
}
