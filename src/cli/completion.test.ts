import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { COMMANDS } from './commands.js';
import { completionScript } from './completion.js';
import { flagsOf } from './flag-help.js';
import { manPage } from './man-page.js';

function completeInBash(words: readonly string[]): string[] {
  const list = words.map((word) => `'${word}'`).join(' ');
  const script =
    `${completionScript('bash', COMMANDS)}\n` +
    `COMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}\n` +
    `_tcpx; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return stdout.trim().split('\n');
}

test('completion: bash completes commands, flags, values and shells', () => {
  assert.deepEqual(completeInBash(['tcpx', 'be']), ['bench']);
  const below = COMMANDS.filter(({ name }) => name.startsWith('bench '));
  const words = below.map(({ name }) => name.slice('bench '.length));
  assert.ok(words.includes('loopback'));
  assert.deepEqual(completeInBash(['tcpx', 'bench', '']), words);
  assert.deepEqual(completeInBash(['tcpx', 'bench', 'loopback', '--si']), ['--size']);
  const ops = ['write', 'read', 'both', 'pingpong'];
  assert.deepEqual(completeInBash(['tcpx', 'bench', 'loopback', '--op', '']), ops);
  assert.deepEqual(completeInBash(['tcpx', 'help', 'top']), ['topo']);
  assert.deepEqual(completeInBash(['tcpx', 'completion', 'f']), ['fish']);
});

test('completion: zsh and fish complete help; texts beside words end without a mark', () => {
  const first = COMMANDS[0]?.name.split(' ')[0] ?? '';
  assert.match(completionScript('zsh', COMMANDS), new RegExp(`help\\) words_of=\\('${first}:`));
  assert.match(
    completionScript('zsh', COMMANDS),
    /'completion '\*\) .*CURRENT == 3 \)\) && words_of=\('bash' 'zsh' 'fish'\)/,
  );
  const fish = completionScript('fish', COMMANDS);
  assert.match(fish, new RegExp(`__fish_seen_subcommand_from help' -f -a '${first} `));
  assert.match(fish, /-l op .*-d 'Operation that a benchmark measures'/);
});

test('completion: every shell knows every command and flag', () => {
  for (const shell of ['bash', 'zsh', 'fish'] as const) {
    const script = completionScript(shell, COMMANDS);
    for (const command of COMMANDS) {
      for (const word of command.name.split(' ')) assert.match(script, new RegExp(`\\b${word}\\b`));
      for (const { name } of flagsOf(command)) {
        assert.ok(
          script.includes(shell === 'fish' ? `-l ${name} ` : `--${name}`),
          `${shell} ${name}`,
        );
      }
    }
  }
});

test('man page: every command with its examples, and nothing else that roff would obey', () => {
  const page = manPage(COMMANDS);
  for (const command of COMMANDS) {
    assert.ok(page.includes(`.SS "tcpx ${command.name.replaceAll('-', '\\-')}`), command.name);
    for (const [line] of command.examples) {
      assert.ok(page.includes(`    tcpx ${line.replaceAll('-', '\\-')}`), line);
    }
  }
  const requests = new Set([...page.matchAll(/^[.'](\S*)/gm)].map(([, name]) => name));
  const known = ['\\"', 'TH', 'SH', 'SS', 'B', 'I', 'TP', 'PP', 'nf', 'fi', 'RS', 'RE'];
  assert.deepEqual(
    [...requests].filter((name) => !known.includes(name ?? '')),
    [],
  );
  assert.doesNotMatch(page, /[^\u0000-\u007e]/, 'plain ASCII');
});
