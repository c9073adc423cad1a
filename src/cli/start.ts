// The program behind `tcpx`: says what is wrong with the installation before anything is loaded
// that would fail for it in words of its own.

import { installationFacts, installationProblem } from '../base/installation.js';
import { exitCodeOf } from './exit-code.js';
import { printError } from './print.js';

const checked = new URL('../base/installation.js', import.meta.url).href;
const problem = installationProblem(installationFacts(checked));
if (problem === undefined) await import('./main.js');
else {
  printError(problem, { hasStack: false, isJson: process.argv.includes('--json') });
  process.exitCode = exitCodeOf(problem);
}
