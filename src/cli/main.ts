// Entry of the `tcpx` command.

import { watchOutput } from './output-loss.js';
import { runProgram } from './program.js';

watchOutput();
const exitCode = await runProgram(process.argv.slice(2));
// Lost output may have been noticed already, or will be after this.
process.exitCode ??= exitCode;
