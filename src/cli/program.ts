// The words of a command line: choose the command, run it, turn its outcome into an exit code.

import { isTcpxError, TcpxError } from '../base/errors.js';
import { didYouMean } from '../base/suggestion.js';
import type { Command } from './command.js';
import { COMMAND_LOADERS } from './command-loaders.js';
import { withEmulator } from './emulator-word.js';
import { ExitCode, exitCodeOf } from './exit-code.js';
import { formatAllCommands, formatCommandHelp, formatFamily, helpDocument } from './help.js';
import { parseInvocation, splitRest } from './invocation.js';
import { packageVersion } from './package-version.js';
import { beginOutput, helpWish, printError, printJson, printOwn } from './print.js';

const NAMES = Object.keys(COMMAND_LOADERS);

/** The exit code; of several runs in one process each begins with nothing printed. */
export async function runProgram(words: readonly string[]): Promise<number> {
  beginOutput();
  try {
    return await runWords(words);
  } catch (thrown) {
    const { own } = splitRest(words);
    const want = loaderWant(thrown);
    const error = want ?? thrown;
    const hasStack = own.includes('--stack') || !isTcpxError(error);
    printError(error, { hasStack, isJson: await isJsonWanted(own) });
    return want === undefined ? exitCodeOf(error) : ExitCode.Environment;
  }
}

/** Modules are loaded when a command needs them, so the loader may run out of files at any time. */
function loaderWant(error: unknown): TcpxError | undefined {
  if (!(error instanceof Error && 'code' in error)) return undefined;
  if (error.code !== 'EMFILE' && error.code !== 'ENFILE') return undefined;
  return new TcpxError(
    'ERR_SYS_DESCRIPTORS',
    `${error.message}: too few files may be open; raise the limit (ulimit -n 1024)`,
    { cause: error },
  );
}

/** Known even where the words cannot be parsed. */
async function isJsonWanted(own: readonly string[]): Promise<boolean> {
  if (own.includes('--json')) return true;
  const shorts = Object.entries((await findCommand(own))?.shortFlags ?? {});
  const letter = shorts.find(([, flag]) => flag === 'json')?.[0];
  return letter !== undefined && own.includes(`-${letter}`);
}

async function runWords(words: readonly string[]): Promise<number> {
  if (words[0] === '--version' || words[0] === '-V') {
    const version = packageVersion();
    if (words.includes('--json')) printJson({ schema: 'tcpx.version/1', version });
    else printOwn(`${version}\n`);
    return ExitCode.Good;
  }
  if (words[0] === 'help') return runWords([...words.slice(1), '--help']);
  const { own } = splitRest(words);
  const command = await findCommand(words);
  const isHelp = own.includes('--help') || own.includes('-h');
  if (command === undefined) return runWithoutCommand(own, isHelp);
  if (isHelp) return showHelp(own, formatCommandHelp, command, [command]);
  const invocation = parseInvocation(command, words.slice(command.name.split(' ').length));
  return command.run(await withEmulator(command, invocation));
}

function showHelp<T>(
  own: readonly string[],
  format: (what: T, wish: ReturnType<typeof helpWish>) => string,
  what: T,
  commands: readonly Command[],
): ExitCode {
  if (own.includes('--json')) printJson(helpDocument(commands));
  else printOwn(format(what, helpWish(own.includes('--all'))));
  return ExitCode.Good;
}

// The longest name wins, so that `bench loopback` is found before `bench`.
async function findCommand(words: readonly string[]): Promise<Command | undefined> {
  for (const count of [2, 1]) {
    const name = words.slice(0, count).join(' ');
    if (NAMES.includes(name)) return COMMAND_LOADERS[name]?.();
  }
  return undefined;
}

async function runWithoutCommand(own: readonly string[], isHelp: boolean): Promise<ExitCode> {
  const names = own.filter((word) => !word.startsWith('-'));
  const flag = own.find((word) => /^-/.test(word) && !/^(-h|--help|--all|--json)$/.test(word));
  const [first, second] = names;
  if (first === undefined) {
    if (flag !== undefined && !isHelp) throw unknownFlag(flag);
    const all = await loadCommands(NAMES);
    return showHelp(own, formatAllCommands, all, all);
  }
  const memberNames = NAMES.filter((name) => name.startsWith(`${first} `));
  if (memberNames.length > 0 && second === undefined) {
    const members = await loadCommands(memberNames);
    return showHelp(own, (all, wish) => formatFamily(first, all, wish), members, members);
  }
  const hint = didYouMean(
    names.slice(0, 2).join(' '),
    memberNames.length > 0 ? memberNames : NAMES,
  );
  const families = NAMES.map((name) => name.split(' ')[0] ?? '');
  throw unknownCommand(
    memberNames.length > 0 ? names.slice(0, 2).join(' ') : first,
    hint === '' && memberNames.length === 0 ? didYouMean(first, families) : hint,
  );
}

async function loadCommands(names: readonly string[]): Promise<readonly Command[]> {
  const loaders = names.flatMap((name) => COMMAND_LOADERS[name] ?? []);
  return Promise.all(loaders.map((load) => load()));
}

function unknownFlag(flag: string): TcpxError {
  const near = didYouMean(flag, ['--help', '--version', '--json']);
  const hint = near === '' ? ';' : near;
  const text = `tcpx: unknown option '${flag}'${hint} tcpx --help lists commands`;
  return new TcpxError('ERR_USAGE_ARGUMENT', text);
}

function unknownCommand(words: string, hint: string): TcpxError {
  const [family = ''] = words.split(' ');
  const list = family === words ? 'tcpx --help' : `tcpx ${family}`;
  return new TcpxError(
    'ERR_USAGE_COMMAND',
    `tcpx: there is no command ${JSON.stringify(words)}${hint === '' ? ';' : hint} ` +
      `${list} lists them`,
  );
}
