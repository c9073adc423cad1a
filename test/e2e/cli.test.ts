// The command line as a child process: what lands on stdout, on stderr, and the exit code.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { SETTING_NAMES } from '../../src/base/settings.js';
import { askTcpx, packageRoot, runChild, runTcpx } from './child.js';

interface ConfigDocument {
  readonly schema: string;
  readonly settings: readonly { name: string; value: unknown; origin: string }[];
}

function settingIn(stdout: string, name: string) {
  const document = JSON.parse(stdout) as ConfigDocument;
  return document.settings.find((setting) => setting.name === name);
}

describe('tcpx: usage errors exit with 2, one line on stderr, nothing on stdout', () => {
  const cases: readonly (readonly [string, readonly string[], RegExp])[] = [
    ['unknown command', ['frobnicate'], /^ERR_USAGE_COMMAND: .*"frobnicate"/],
    ['unknown flag', ['config', '--frobnicate'], /^ERR_USAGE_ARGUMENT: .*--frobnicate/],
    ['flag without its value', ['config', '--size'], /^ERR_USAGE_ARGUMENT: .*--size/],
    ['unexpected argument', ['config', 'extra'], /^ERR_USAGE_ARGUMENT: .*"extra"/],
    ['words after --', ['config', '--', 'ls'], /^ERR_USAGE_ARGUMENT: /],
    ['size 0', ['config', '--size', '0'], /^ERR_CONFIG_VALUE: bench\.sizeBytes: "0" from flag/],
    ['size -1', ['config', '--size', '-1'], /^ERR_CONFIG_VALUE: bench\.sizeBytes: "-1" from flag/],
    ['size 64XB', ['config', '--size', '64XB'], /^ERR_CONFIG_VALUE: .*"64XB" from flag --size/],
    ['size empty', ['config', '--size', ''], /^ERR_CONFIG_VALUE: .*"" from flag --size/],
    ['port beyond range', ['config', '--port', '65536'], /^ERR_CONFIG_VALUE: .*0 … 65535/],
    [
      'choice unknown',
      ['config', '--op', 'append'],
      /^ERR_CONFIG_VALUE: .*write, read, both, pingpong/,
    ],
    ['GPU that is no number', ['bench', 'server', 'x'], /^ERR_CONFIG_VALUE: bench\.gpu: "x"/],
    ['GPU of a client', ['bench', 'client', '::1', '64'], /^ERR_CONFIG_VALUE: bench\.gpu: "64"/],
    ['GPU twice', ['bench', 'server', '1', '--gpu', '2'], /^ERR_USAGE_ARGUMENT: .*"1" and --gpu 2/],
    ['empty HOST', ['bench', 'client', ''], /^ERR_USAGE_ARGUMENT: .*which HOST/],
    ['settings that conflict', ['config', '--progress', 'caller', '--lanes', '2'], /_CONFLICT: /],
  ];
  for (const [name, words, pattern] of cases) {
    test(`tcpx: ${name}`, () => {
      const { exitCode, stdout, stderr } = askTcpx(words);
      assert.equal(exitCode, 2, stderr);
      assert.match(stderr, pattern);
      assert.equal(stderr.trimEnd().split('\n').length, 1, `more than one line: ${stderr}`);
      assert.equal(stdout, '');
    });
  }
});

describe('tcpx: help and version', () => {
  test('tcpx: --help lists the commands on stdout and exits with 0', async () => {
    for (const words of [['--help'], ['-h'], []]) {
      const { exitCode, stdout, stderr } = await runTcpx(words);
      assert.equal(exitCode, 0, stderr);
      assert.match(stdout, /^ {2}config {2,}\S/m);
    }
  });

  test('tcpx config: --help shows flags with range, default and environment name', async () => {
    const { exitCode, stdout } = await runTcpx(['config', '--help', '--all']);
    assert.equal(exitCode, 0);
    assert.match(stdout, /--chunk SIZE/);
    assert.match(
      stdout.replace(/\s+/g, ' '),
      /4 KiB … 16 MiB, auto; default auto; NIXL_TCPX_FLOW_CHUNK_BYTES/,
    );
    assert.match(stdout, /--json/);
  });

  test('tcpx serve: --help shows folder and clients, and what its port is', async () => {
    const { stdout } = await runTcpx(['serve', '--help']);
    assert.match(stdout, /--folder DIR/);
    assert.match(stdout, /--clients N/);
    assert.match(stdout, /--port PORT +Ports of the clients/);
    assert.doesNotMatch(stdout, /20000/);
  });

  test('tcpx: help X is X --help; a family alone shows its members; both as JSON', async () => {
    const both = [
      ['help', 'bench', 'client'],
      ['bench', 'client', '--help'],
    ] as const;
    const [one, other] = await Promise.all(both.map((words) => runTcpx(words)));
    assert.equal(one?.stdout, other?.stdout);
    const family = await runTcpx(['bench']);
    assert.equal(family.exitCode, 0);
    assert.match(family.stdout, /^ {2}bench loopback .*\n {2}bench server/m);
    assert.doesNotMatch(family.stdout, /^ {2}topo/m);
    const { stdout } = await runTcpx(['help', '--json']);
    const { schema, commands } = JSON.parse(stdout) as { schema: string; commands: unknown[] };
    assert.equal(schema, 'tcpx.help/1');
    assert.ok(commands.length > 20);
  });

  test('tcpx: advanced flags are shown by --all alone', async () => {
    const brief = await runTcpx(['bench', 'loopback', '--help']);
    const all = await runTcpx(['bench', 'loopback', '--help', '--all']);
    assert.doesNotMatch(brief.stdout, /--spin/);
    assert.match(brief.stdout, /\d+ more, with ranges and variables: .*--help --all/);
    assert.match(all.stdout, /--spin US/);
  });

  test('tcpx: --version prints the version of the package', async () => {
    const manifest = readFileSync(`${packageRoot}package.json`, 'utf8');
    const { exitCode, stdout } = await runTcpx(['--version']);
    assert.equal(exitCode, 0);
    const { version } = JSON.parse(manifest) as { version: string };
    assert.equal(stdout.trim(), version);
    const { stdout: json } = await runTcpx(['--version', '--json']);
    assert.deepEqual(JSON.parse(json), { schema: 'tcpx.version/1', version });
  });

  test('tcpx: --stack adds the stack of an expected error', async () => {
    const { exitCode, stderr } = await runTcpx(['config', '--size', '0', '--stack']);
    assert.equal(exitCode, 2);
    assert.match(stderr, /\n\s+at /);
  });
});

describe('tcpx: words that people type', () => {
  test('tcpx: did you mean', () => {
    const cases = [
      [['bech'], /did you mean bench\?/],
      [['--versoin'], /unknown option '--versoin'; did you mean --version\?/],
      [['bench', 'lopback'], /did you mean bench loopback\?/],
      [['config', '--szie', '4'], /did you mean --size\?/],
      [['completion', 'bsh'], /did you mean bash\?/],
    ] as const;
    for (const [words, expected] of cases) {
      const { exitCode, stderr } = askTcpx(words);
      assert.equal(exitCode, 2);
      assert.match(stderr, expected);
    }
    const { exitCode, stderr } = askTcpx(['config'], { NIXL_TCPX_FLOW_CHANELS: '2' });
    assert.equal(exitCode, 2);
    assert.match(stderr, /^ERR_CONFIG_UNKNOWN: .*did you mean NIXL_TCPX_FLOW_CHANNELS\?/);
  });

  test('tcpx bench: the letters of iperf3', async () => {
    const quick = ['--size', '64K', '--warmup', '0'];
    const run = await runTcpx(['bench', 'loopback', '-t', '1', '-P', '2', '-R', '-J', ...quick]);
    assert.equal(run.exitCode, 0, run.stderr);
    const result = JSON.parse(run.stdout) as { op: string; channels: number };
    assert.equal(result.op, 'read');
    assert.equal(result.channels, 2);
    const clash = await runTcpx(['bench', 'loopback', '-R', '--op', 'write']);
    assert.equal(clash.exitCode, 2);
    assert.match(clash.stderr, /--reverse and --op write contradict each other/);
  });
});

/** A shell script in which $TCPX stands for the program. */
function runShell(script: string) {
  const tcpx = `${process.execPath} bin/tcpx.js`;
  return runChild('bash', ['-c', script.replaceAll('$TCPX', tcpx)]);
}

describe('tcpx: output that nobody takes', () => {
  test('tcpx watch: ends in silence when its reader has gone', async () => {
    const script =
      '$TCPX watch --json --interval-ms 50 | head -n 1; echo "status ${PIPESTATUS[0]}"';
    const { stdout, stderr } = await runShell(script);
    assert.match(stdout, /status 0\n$/);
    assert.equal(stderr, '');
  });

  test('tcpx: a full disk below stdout is exit 4 and one line, not a stack', async () => {
    const { exitCode, stderr } = await runShell('$TCPX config --json > /dev/full');
    assert.equal(exitCode, 4);
    assert.equal(stderr, 'ERR_SYS_CALL: write to stdout: ENOSPC\n');
  });

  test('tcpx: a full disk below a file that was asked for is exit 4', async () => {
    for (const words of ['topo --svg /dev/full', 'irq plan --output /dev/full']) {
      const { exitCode, stderr } = await runShell(`$TCPX ${words}`);
      assert.equal(exitCode, 4, stderr);
      assert.match(stderr, /^ERR_SYS_CALL: .*\/dev\/full: ENOSPC/m);
    }
  });
});

describe('tcpx config', () => {
  test('config: --json prints one document with every setting and its origin', async () => {
    const { exitCode, stdout, stderr } = await runTcpx(['config', '--json', '--chunk', '1MiB'], {
      NIXL_TCPX_LANE_COUNT: '3',
      UCCL_TCPX_NUM_CHANNELS: '4',
    });
    assert.equal(exitCode, 0, stderr);
    const document = JSON.parse(stdout) as ConfigDocument;
    assert.equal(document.schema, 'tcpx.config/1');
    assert.deepEqual(
      document.settings.map((setting) => setting.name),
      SETTING_NAMES,
    );
    const expected = [
      { name: 'flow.chunkBytes', value: 1_048_576, origin: 'flag --chunk' },
      { name: 'lane.count', value: 3, origin: 'environment NIXL_TCPX_LANE_COUNT' },
      { name: 'flow.channels', value: 4, origin: 'environment UCCL_TCPX_NUM_CHANNELS' },
      { name: 'session.stallMs', value: 200, origin: 'default' },
    ];
    for (const setting of expected) assert.deepEqual(settingIn(stdout, setting.name), setting);
  });

  test('config: never prints the secret', async () => {
    const env = { NIXL_TCPX_TRUST_SECRET: 'open-sesame' };
    for (const words of [['config'], ['config', '--json']]) {
      const { exitCode, stdout, stderr } = await runTcpx(words, env);
      assert.equal(exitCode, 0);
      assert.doesNotMatch(stdout + stderr, /open-sesame/);
      assert.match(stdout + stderr, /\(set\)/);
    }
  });

  test('config: a bad value in the environment is an error that names the variable', async () => {
    const { exitCode, stderr } = await runTcpx(['config'], { NCCL_P2P_NET_CHUNKSIZE: '12' });
    assert.equal(exitCode, 2);
    assert.match(stderr, /^ERR_CONFIG_VALUE: .*environment NCCL_P2P_NET_CHUNKSIZE/);
  });
});
