// Help as text: all commands in their groups, one group, one command; and the same as a document.

import { COMMAND_GROUPS, type Command, type CommandGroup, usageLine } from './command.js';
import { fitShellWords, wrapWords } from './fit-text.js';
import { type FlagHelp, flagsOf } from './flag-help.js';

export interface HelpWish {
  readonly columns: number;
  /** Advanced flags too, each with range, default and variable. */
  readonly isLong: boolean;
  /** Paints headings where the reader can see it. */
  heading(text: string): string;
}

const COLUMNS_MAX = 100;
const EXIT_CODES =
  'Exit codes: 0 good, 1 the answer is no, 2 usage, 3 the environment lacks something, 4 failure ' +
  'at run time. Results go to stdout, all else to stderr.';

export function formatCommandHelp(command: Command, wish: HelpWish): string {
  const columns = Math.min(wish.columns, COLUMNS_MAX);
  const lines = [
    fitShellWords(usageLine(command), columns),
    '',
    ...wrapWords(command.summary, columns),
    '',
    wish.heading('Examples'),
    ...command.examples.flatMap(([line, does]) => [
      fitShellWords(`  tcpx ${line}`, columns),
      ...wrapWords(does, columns - 6).map((part) => `      ${part}`),
    ]),
    ...formatFlags(command, { ...wish, columns }),
  ];
  return `${lines.join('\n')}\n`;
}

function formatFlags(command: Command, wish: HelpWish): string[] {
  const all = flagsOf(command);
  const shown = wish.isLong ? all : all.filter((flag) => !flag.isAdvanced);
  const lines: string[] = [];
  const areas = wish.isLong ? new Set(shown.map(({ area }) => area)) : ['Flags'];
  for (const area of areas) {
    lines.push('', wish.heading(area));
    for (const flag of shown) {
      if (!wish.isLong || flag.area === area) lines.push(...flagLines(flag, wish));
    }
  }
  const hidden = all.length - shown.length;
  const more = `${hidden} more, with ranges and variables: tcpx ${command.name} --help --all`;
  if (hidden > 0) lines.push('', ...wrapWords(more, wish.columns));
  return lines;
}

const FLAG_INDENT = 24;
const FLAG_INDENT_NARROW = 8;

function flagLines(flag: FlagHelp, { columns, isLong }: HelpWish): string[] {
  const facts = isLong ? flag.facts : briefFacts(flag);
  const text = facts === '' ? flag.summary : `${flag.summary} [${facts}]`;
  const indent = columns < 70 ? FLAG_INDENT_NARROW : FLAG_INDENT;
  return hangingLines(`  ${flagUsage(flag)}`, text, indent, columns);
}

/** The values where their names do not show them, and a default that says something. */
function briefFacts({ value, choices, fallback }: FlagHelp): string {
  const names = value === 'NAME' && choices.length > 0 ? [choices.join(', ')] : [];
  const isTelling = fallback !== '' && fallback !== 'none' && value !== '';
  return [...names, ...(isTelling ? [`default ${fallback}`] : [])].join('; ');
}

export function flagUsage({ short, name, value }: FlagHelp): string {
  const names = short === '' ? `--${name}` : `-${short}, --${name}`;
  return value === '' ? names : `${names} ${value}`;
}

function hangingLines(head: string, text: string, indent: number, columns: number): string[] {
  const parts = wrapWords(text, columns - indent).map((part) => ' '.repeat(indent) + part);
  if (head.length + 2 > indent) return [fitShellWords(head, columns), ...parts];
  return [head.padEnd(indent) + (parts[0] ?? '').trimStart(), ...parts.slice(1)];
}

export function formatAllCommands(commands: readonly Command[], wish: HelpWish): string {
  const columns = Math.min(wish.columns, COLUMNS_MAX);
  const lines = ['tcpx COMMAND [flags]: moves memory between machines over TCP'];
  for (const group of Object.keys(COMMAND_GROUPS) as CommandGroup[]) {
    const members = commands.filter((command) => command.group === group);
    lines.push('', wish.heading(COMMAND_GROUPS[group]), ...commandLines(members, columns));
  }
  const hint =
    'tcpx COMMAND --help, or tcpx help COMMAND, explains one; --all adds advanced flags. ';
  lines.push('', ...wrapWords(hint + EXIT_CODES, columns));
  return `${lines.flatMap((line) => wrapWide(line, columns)).join('\n')}\n`;
}

/** Commands that share their first word. */
export function formatFamily(word: string, members: readonly Command[], wish: HelpWish): string {
  const columns = Math.min(wish.columns, COLUMNS_MAX);
  const lines = [
    `tcpx ${word} COMMAND [flags]`,
    '',
    ...commandLines(members, columns),
    '',
    wish.heading('Examples'),
    ...members.map(({ examples }) => fitShellWords(`  tcpx ${examples[0][0]}`, columns)),
    '',
    ...wrapWords(`tcpx ${word} COMMAND --help explains one.`, columns),
  ];
  return `${lines.join('\n')}\n`;
}

function wrapWide(line: string, columns: number): string[] {
  return line.length <= columns || line.startsWith(' ') || line.includes('\u001b')
    ? [line]
    : wrapWords(line, columns);
}

function commandLines(commands: readonly Command[], columns: number): string[] {
  const names = commands.map(({ name, positionals = '' }) => `  ${name} ${positionals}`.trimEnd());
  const width = Math.min(Math.max(...names.map(({ length }) => length)) + 2, 30);
  const indent = columns < 70 ? FLAG_INDENT_NARROW : width;
  return commands.flatMap(({ summary }, index) =>
    hangingLines(names[index] ?? '', summary, indent, columns),
  );
}

/** For programs: what `--help --json` prints. */
export function helpDocument(commands: readonly Command[]) {
  return {
    schema: 'tcpx.help/1',
    commands: commands.map((command) => ({
      name: command.name,
      group: command.group,
      usage: usageLine(command),
      summary: command.summary,
      examples: command.examples.map(([line, does]) => ({ line: `tcpx ${line}`, does })),
      flags: flagsOf(command),
    })),
  };
}
