// Shell completion from the table of commands: words, flags and the values that are known.

import type { Command } from './command.js';
import { type FlagHelp, flagsOf } from './flag-help.js';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

const PROGRAMS = ['tcpx', 'nixl-tcpx'] as const;

export function completionScript(shell: Shell, commands: readonly Command[]): string {
  switch (shell) {
    case 'bash':
      return bashScript(commands);
    case 'zsh':
      return zshScript(commands);
    case 'fish':
      return fishScript(commands);
  }
}

/** `bench` → its second words; commands of one word have the empty one too. */
function families(commands: readonly Command[]): ReadonlyMap<string, readonly Command[]> {
  const byWord = new Map<string, Command[]>();
  for (const command of commands) {
    const [word = ''] = command.name.split(' ');
    byWord.set(word, [...(byWord.get(word) ?? []), command]);
  }
  return byWord;
}

function secondWords(members: readonly Command[]): string[] {
  return members.flatMap(({ name }) => name.split(' ').slice(1));
}

/** Every flag once with its known values; commands that share a name share its values. */
function valuedFlags(commands: readonly Command[]): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, readonly string[]>();
  for (const flag of commands.flatMap(flagsOf)) {
    if (flag.value === '') continue;
    const known = values.get(flag.name) ?? [];
    values.set(flag.name, known.length > 0 ? known : flag.choices);
  }
  return values;
}

const PATH_VALUE = /^(?:FILE|DIR|PATH)$/;

function pathFlags(commands: readonly Command[]): string[] {
  const names = commands.flatMap(flagsOf).filter(({ value }) => PATH_VALUE.test(value));
  return [...new Set(names.map(({ name }) => name))];
}

function flagWords(command: Command): string[] {
  return flagsOf(command).flatMap(({ name, short }) =>
    short === '' ? [`--${name}`] : [`--${name}`, `-${short}`],
  );
}

function bashScript(commands: readonly Command[]): string {
  const groups = families(commands);
  const seconds = [...groups].filter(([, members]) => secondWords(members).length > 0);
  const cases = valueCases(commands);
  return `# Completion of tcpx for bash: eval "$(tcpx completion bash)"
_tcpx() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local first="\${COMP_WORDS[1]}" words=''
  case "$previous" in
${cases}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    words='${[...groups.keys(), 'help'].join(' ')} --help --version'
  else
    if [ "$COMP_CWORD" -eq 2 ]; then
      case "$first" in
${seconds.map(bashSecondWords).join('\n')}
        help) words='${[...groups.keys()].join(' ')}' ;;
      esac
    fi
    case "$first \${COMP_WORDS[2]}" in
${commands.map(bashCommandCase).join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ \${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}
complete -o filenames -F _tcpx ${PROGRAMS.join(' ')}
`;
}

function bashSecondWords([word, members]: readonly [string, readonly Command[]]): string {
  return `        ${word}) words='${secondWords(members).join(' ')}' ;;`;
}

/** What stands in a case of both shells for the first two words of a command. */
function casePattern({ name }: Command): string {
  return name.includes(' ') ? `'${name}'` : `'${name} '*`;
}

function bashCommandCase(command: Command): string {
  return `      ${casePattern(command)}) words="$words ${commandWords(command).join(' ')}" ;;`;
}

function commandWords(command: Command): string[] {
  return [...(command.positionalChoices ?? []), ...flagWords(command)];
}

function valueCases(commands: readonly Command[]): string {
  const paths = pathFlags(commands);
  const lines: string[] = [];
  for (const [name, choices] of valuedFlags(commands)) {
    const reply =
      choices.length > 0
        ? `compgen -W '${choices.join(' ')}'`
        : paths.includes(name)
          ? 'compgen -f'
          : '';
    const fill = reply === '' ? 'COMPREPLY=()' : `COMPREPLY=($(${reply} -- "$current"))`;
    lines.push(`    --${name}) ${fill}; return ;;`);
  }
  return lines.join('\n');
}

/** In single quotes, as zsh and fish read them. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", '’').replaceAll('\\', '')}'`;
}

function zshScript(commands: readonly Command[]): string {
  const groups = families(commands);
  const first = [...groups].map(
    ([word, members]) => `    ${described(word, familySummary(members))}`,
  );
  const seconds = [...groups].flatMap(([word, members]) => {
    const rows = members
      .filter(({ name }) => name.includes(' '))
      .map(({ name, summary }) => described(name.split(' ')[1] ?? '', summary));
    return rows.length === 0 ? [] : [`    ${word}) words_of=(${rows.join(' ')}) ;;`];
  });
  seconds.push(`    help) words_of=(${first.map((row) => row.trim()).join(' ')}) ;;`);
  return `#compdef ${PROGRAMS.join(' ')}
# Completion of tcpx for zsh: tcpx completion zsh > "\${fpath[1]}/_tcpx"
_tcpx() {
  local -a words_of flags_of
  if (( CURRENT == 2 )); then
    words_of=(
${first.join('\n')}
    ${described('help', 'Explain a command.')}
    )
    _describe command words_of
    return
  fi
  case "\${words[CURRENT-1]}" in
${zshValues(commands)}
  esac
  (( CURRENT == 3 )) && case "\${words[2]}" in
${seconds.join('\n')}
  esac
  case "\${words[2]} \${words[3]}" in
${commands.map(zshCommandCase).join('\n')}
  esac
  if (( $#words_of )) && [[ "\${words[CURRENT]}" != -* ]]; then
    _describe command words_of
    return
  fi
  (( $#flags_of )) && _describe -o flag flags_of
  _files
}
if [ "$funcstack[1]" = _tcpx ]; then _tcpx "$@"; else compdef _tcpx ${PROGRAMS.join(' ')}; fi
`;
}

function described(word: string, text: string): string {
  return quoted(`${word.replaceAll(':', '\\:')}:${text}`);
}

function familySummary(members: readonly Command[]): string {
  const [only] = members;
  if (members.length === 1 && only !== undefined) return only.summary;
  return secondWords(members).join(', ');
}

function zshFlags(command: Command): string {
  const flags = flagsOf(command).map((flag) => described(`--${flag.name}`, firstSentence(flag)));
  return flags.join(' ');
}

function zshCommandCase(command: Command): string {
  const { name, positionalChoices = [] } = command;
  const place = name.split(' ').length + 2;
  const words = positionalChoices.map(quoted).join(' ');
  const choices = words === '' ? '' : `; (( CURRENT == ${place} )) && words_of=(${words})`;
  return `    ${casePattern(command)}) flags_of=(${zshFlags(command)})${choices} ;;`;
}

function zshValues(commands: readonly Command[]): string {
  const paths = pathFlags(commands);
  const lines: string[] = [];
  for (const [name, choices] of valuedFlags(commands)) {
    if (choices.length > 0) lines.push(`    --${name}) compadd ${choices.join(' ')}; return ;;`);
    else if (paths.includes(name)) lines.push(`    --${name}) _files; return ;;`);
  }
  return lines.join('\n');
}

function firstSentence({ summary }: FlagHelp): string {
  return /^(.*?)(?:\.|;)(?= |$)/.exec(summary)?.[1] ?? summary;
}

function fishScript(commands: readonly Command[]): string {
  const lines = ['# Completion of tcpx for fish: tcpx completion fish | source'];
  for (const program of PROGRAMS) {
    const add = (condition: string, rest: string) =>
      lines.push(`complete -c ${program} -n ${quoted(condition)} ${rest}`);
    for (const [word, members] of families(commands)) {
      add('__fish_use_subcommand', `-f -a ${word} -d ${quoted(familySummary(members))}`);
      const words = secondWords(members);
      for (const { name, summary } of members.filter((one) => one.name.includes(' '))) {
        const [, second = ''] = name.split(' ');
        const seen = `${fishSeen(word)}; and not ${fishSeen(words.join(' '))}`;
        add(seen, `-f -a ${second} -d ${quoted(summary)}`);
      }
    }
    add('__fish_use_subcommand', `-f -a help -d ${quoted('Explain a command.')}`);
    add(fishSeen('help'), `-f -a ${quoted([...families(commands).keys()].join(' '))}`);
    for (const command of commands) {
      const condition = command.name.split(' ').map(fishSeen).join('; and ');
      for (const choice of command.positionalChoices ?? []) add(condition, `-f -a ${choice}`);
      for (const flag of flagsOf(command)) add(condition, fishFlag(flag));
    }
  }
  return `${lines.join('\n')}\n`;
}

function fishSeen(words: string): string {
  return `__fish_seen_subcommand_from ${words}`;
}

function fishFlag(flag: FlagHelp): string {
  const parts = [`-l ${flag.name}`];
  if (flag.short !== '') parts.push(`-s ${flag.short}`);
  if (flag.value !== '') parts.push(PATH_VALUE.test(flag.value) ? '-rF' : '-x');
  if (flag.choices.length > 0) parts.push(`-a ${quoted(flag.choices.join(' '))}`);
  parts.push(`-d ${quoted(firstSentence(flag))}`);
  return parts.join(' ');
}
