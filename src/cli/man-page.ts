// The man page tcpx(1) from the table of commands, as roff.

import { COMMAND_GROUPS, type Command, type CommandGroup, usageLine } from './command.js';
import { flagsOf } from './flag-help.js';
import { flagUsage } from './help.js';

const EXIT_STATUS: readonly (readonly [string, string])[] = [
  ['0', 'Good.'],
  ['1', 'The command worked and the answer is no: a check failed.'],
  ['2', 'The command line or a setting is wrong.'],
  ['3', 'The environment lacks something.'],
  ['4', 'A failure at run time.'],
];

export function manPage(commands: readonly Command[]): string {
  const parts = [
    '.\\" Generated from the table of commands by npm run docs; do not edit.',
    '.TH TCPX 1 "" "nixl\\-tcpx" "User Commands"',
    '.SH NAME',
    'tcpx \\- move memory between machines over TCP; measure, look at the host, bind interrupts',
    '.SH SYNOPSIS',
    '.B tcpx',
    '.I COMMAND',
    '[flags]',
    '.SH DESCRIPTION',
    roff(
      'What was asked for goes to stdout; progress, notes and errors go to stderr. With --json ' +
        'stdout gets one JSON document, for a failure too. Sizes are plain bytes, 512K or 64MiB. ' +
        'Tables fit COLUMNS, or the terminal. nixl-tcpx is another name of the same program.',
    ),
    ...(Object.keys(COMMAND_GROUPS) as CommandGroup[]).flatMap((group) => [
      `.SH ${quotedArgument(`COMMANDS: ${COMMAND_GROUPS[group].toUpperCase()}`)}`,
      ...commands.filter((command) => command.group === group).flatMap(commandPart),
    ]),
    '.SH EXIT STATUS',
    ...EXIT_STATUS.flatMap(([code, meaning]) => ['.TP', `.B ${code}`, roff(meaning)]),
    'A command that runs another one returns the status of that one.',
    '.SH ENVIRONMENT',
    ...environmentPart(),
    '.SH SEE ALSO',
    roff('docs/README.md in the package: configuration, errors, troubleshooting, benchmarking.'),
  ];
  return `${parts.join('\n')}\n`;
}

function commandPart(command: Command): string[] {
  return [
    `.SS ${quotedArgument(usageLine(command))}`,
    roff(command.summary),
    ...flagsOf(command).flatMap((flag) => [
      '.TP',
      `.B ${quotedArgument(flagUsage(flag))}`,
      roff(flag.facts === '' ? flag.summary : `${flag.summary} [${flag.facts}]`),
    ]),
    '.PP',
    'Examples:',
    ...command.examples.flatMap(([line, does]) => [
      '.PP',
      '.nf',
      roff(`    tcpx ${line}`),
      '.fi',
      '.RS 8',
      roff(does),
      '.RE',
    ]),
  ];
}

function environmentPart(): string[] {
  const rows: readonly (readonly [string, string])[] = [
    ['NIXL_TCPX_…', 'Every setting, named behind its flag; unknown names are refused.'],
    ['COLUMNS', 'Width that output fits in; else that of the terminal.'],
    ['NO_COLOR', 'No colours, whatever the terminal can do.'],
  ];
  return rows.flatMap(([name, does]) => ['.TP', `.B ${quotedArgument(name)}`, roff(does)]);
}

/** Text of ours as roff reads it: no escapes, no requests, hyphens that can be copied. */
function roff(text: string): string {
  const escaped = text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('’', '\\(cq')
    .replaceAll('…', '\\&...')
    .replaceAll('µ', '\\(mc')
    .replaceAll('→', '\\(->')
    .replaceAll('“', '\\(lq')
    .replaceAll('”', '\\(rq');
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}

function quotedArgument(text: string): string {
  return `"${roff(text).replaceAll('"', '\\(dq')}"`;
}
