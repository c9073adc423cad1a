// Entry of the `tcpx` command: choose the command, run it, turn its outcome into an exit code.

import { readFileSync } from 'node:fs';
import { isTcpxError, TcpxError } from '../base/errors.js';
import { type Command, formatHelp, parseInvocation } from './command.js';
import { COMMANDS } from './commands.js';
import { ExitCode, exitCodeOf } from './exit-code.js';
import { watchOutput } from './output-loss.js';
import { printData, printError } from './print.js';

watchOutput();
const exitCode = await main(process.argv.slice(2));
// Lost output may have been noticed already, or will be after this.
process.exitCode ??= exitCode;

async function main(words: readonly string[]): Promise<number> {
  try {
    return await runWords(words);
  } catch (error) {
    const wantsStack = words.includes('--stack') || !isTcpxError(error);
    printError(error, wantsStack);
    return exitCodeOf(error);
  }
}

async function runWords(words: readonly string[]): Promise<number> {
  if (words[0] === '--version') {
    printData(`${packageVersion()}\n`);
    return ExitCode.Good;
  }
  const command = findCommand(words);
  if (command === undefined) return runWithoutCommand(words);
  const rest = words.slice(command.name.split(' ').length);
  const ownWords = rest.includes('--') ? rest.slice(0, rest.indexOf('--')) : rest;
  if (ownWords.includes('--help') || ownWords.includes('-h')) {
    printData(formatHelp(command));
    return ExitCode.Good;
  }
  return command.run(parseInvocation(command, rest));
}

// The longest name wins, so that `bench loopback` is found before `bench`.
function findCommand(words: readonly string[]): Command | undefined {
  for (const count of [2, 1]) {
    const name = words.slice(0, count).join(' ');
    const command = COMMANDS.find((candidate) => candidate.name === name);
    if (command !== undefined) return command;
  }
  return undefined;
}

function runWithoutCommand(words: readonly string[]): ExitCode {
  const isHelp = words.length === 0 || words.includes('--help') || words.includes('-h');
  const group = words.find((word) => !word.startsWith('-'));
  const members = COMMANDS.filter((command) => command.name.startsWith(`${group ?? ''} `));
  if (!isHelp || (group !== undefined && members.length === 0)) {
    const hint = members.map((command) => command.name).join(', ');
    throw new TcpxError(
      'ERR_USAGE_COMMAND',
      hint === ''
        ? `tcpx: no command ${JSON.stringify(words[0])}; tcpx --help lists them`
        : `tcpx: ${JSON.stringify(words.join(' '))} is not a command; there are: ${hint}`,
    );
  }
  printData(formatCommandList(members.length > 0 ? members : COMMANDS));
  return ExitCode.Good;
}

function formatCommandList(commands: readonly Command[]): string {
  const width = Math.max(...commands.map((command) => command.name.length)) + 2;
  const rows = commands.map((command) => `  ${command.name.padEnd(width)}${command.summary}`);
  return (
    `tcpx COMMAND [flags]: moves memory between machines over TCP\n\n${rows.join('\n')}\n\n` +
    `tcpx COMMAND --help explains one; exit codes: 0 good, 1 the answer is no, 2 usage, ` +
    `3 environment, 4 run time.\n`
  );
}

function packageVersion(): string {
  const path = new URL('../../../package.json', import.meta.url);
  // checked: it is our own manifest, packed beside this file
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as { version: string };
  return manifest.version;
}
