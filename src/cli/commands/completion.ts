// `tcpx completion SHELL`: a script that a shell reads to complete commands, flags and values.

import { didYouMean } from '../../base/suggestion.js';
import { type Command, usageError } from '../command.js';
import { completionScript, SHELLS } from '../completion.js';
import { ExitCode } from '../exit-code.js';
import { printCode, printJson } from '../print.js';

export const completionCommand: Command = {
  name: 'completion',
  group: 'settings',
  summary: 'Shell completion: eval "$(tcpx completion bash)".',
  positionals: SHELLS.join('|'),
  positionalsMax: 1,
  positionalChoices: SHELLS,
  settings: [],
  examples: [
    ['completion bash', 'For eval "$(…)" in ~/.bashrc, or a file in /etc/bash_completion.d.'],
    ['completion fish', 'For ~/.config/fish/completions/tcpx.fish.'],
  ],
  async run(invocation) {
    const [word = ''] = invocation.positionals;
    const shell = SHELLS.find((known) => known === word);
    if (shell === undefined) {
      const said = word === '' ? 'for which shell?' : `no completion for ${JSON.stringify(word)};`;
      const known = `there are ${SHELLS.join(', ')}`;
      throw usageError(completionCommand, `${said} ${known}${didYouMean(word, SHELLS)}`);
    }
    // The list holds this command, so it is loaded only now.
    const { COMMANDS } = await import('../commands.js');
    const script = completionScript(shell, COMMANDS);
    if (invocation.isJson) printJson({ schema: 'tcpx.completion/1', shell, script });
    else printCode(script);
    return ExitCode.Good;
  },
};
