// For every command the words of a short run that succeeds here, on files made for it.

import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtInPlan } from '../../src/experiment/built-in-plans.js';
import { EXPERIMENT_SCHEMA, saveRecord } from '../../src/experiment/record.js';
import { emulatorPath, emulatorVariables, requireNative } from '../native/plugin-environment.js';
import { a3HighTree } from '../support/a3-high-host.js';
import { benchResult } from '../support/bench-result.js';
import { flatBundle } from '../support/flat-bundle.js';
import { removeTreeFolder, writeTreeFolder } from '../support/tree-folder.js';
import { until } from '../support/until.js';
import { RunningTcpx } from './running-tcpx.js';

export interface WalkCase {
  readonly words: readonly string[];
  /** Behind `--`, for a command that runs another. */
  readonly rest?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** The answer may also be no. */
  readonly exitCode?: number;
  /** Prints lines for a shell, which are not broken. */
  readonly isCode?: boolean;
  /** `--json` prints a document per line. */
  readonly hasLines?: boolean;
  /** Runs until it is interrupted. */
  readonly isServer?: boolean;
}

const TRACE = `1 10.0 init name=GPUDirectTCPX_v7 devices=1
2 20.0 listen channel=0 dev=0
3 900.0 accept channel=0 polls=40
4 910.0 irecv channel=0 chunk=0 tag=1 bytes=100 offset=0 result=0
5 950.0 test channel=0 chunk=0 tag=1 bytes=100 offset=0 result=1 role=receive polls=9
6 951.0 unpack channel=0 chunk=0 tag=1 fragments=2
7 952.0 irecvConsumed channel=0 chunk=0 tag=1 bytes=100 offset=0 result=0
`;
const SHORT = ['--iters', '3', '--warmup', '1', '--warmup-seconds', '0'];
const QUICK = ['--size', '64K', ...SHORT];

/** Files, a host tree and a benchmark server that the cases share. */
export class WalkWorld {
  readonly #folder = mkdtempSync(join(tmpdir(), 'tcpx-walk-'));
  readonly #tree = writeTreeFolder(a3HighTree());
  readonly #server = new RunningTcpx(['bench', 'server', '--port', '0', '--json']);

  /** Where benchmarks leave their results. */
  get store(): string {
    return join(this.#folder, 'store');
  }

  async open(): Promise<Readonly<Record<string, WalkCase>>> {
    requireNative();
    for (const [name, text] of flatBundle()) writeFileSync(join(this.#folder, name), text);
    await until('the server says its port', 20_000, () => this.#server.stdout.endsWith('}\n'));
    const server = JSON.parse(this.#server.stdout) as { port: number; secret: string };
    return this.#cases(server.port, server.secret);
  }

  close(): void {
    this.#server.kill();
    rmSync(this.#folder, { recursive: true, force: true });
    removeTreeFolder(this.#tree);
  }

  #file(name: string, text: string): string {
    const path = join(this.#folder, name);
    writeFileSync(path, text);
    return path;
  }

  #cases(port: number, secret: string): Record<string, WalkCase> {
    const bundle = ['--root', this.#folder];
    const tree = ['--root', this.#tree];
    const trace = this.#file('rail.trace', TRACE);
    const result = this.#file('run.json', JSON.stringify({ schema: 'tcpx.bench/1', ok: true }));
    const measured = this.#file('measured.json', JSON.stringify(benchResult()));
    const variables = this.#file('good.env', 'NCCL_ALGO=Ring\n');
    return {
      'bench loopback': { words: QUICK },
      'bench server': { words: ['--port', '0'], isServer: true },
      'bench client': {
        words: ['127.0.0.1', '--port', String(port), ...QUICK],
        environment: { NIXL_TCPX_TRUST_SECRET: secret },
      },
      'bench mesh': { words: ['--gpus', '0,1', '--workers', 'one', '--port', '0', ...QUICK] },
      'bench sweep': { words: ['--size', '4K,64K', '--rounds', '1', ...SHORT] },
      // No peers: what they print is tested apart.
      'bench compare': {
        words: ['--size', '64K', '--rounds', '1', '--turn-seconds', '0'],
        environment: { PATH: this.#shellAlone() },
      },
      'bench show': { words: [measured] },
      'bench diff': { words: [measured, measured] },
      serve: { words: ['--folder', join(this.#folder, 'service')], isServer: true },
      topo: { words: bundle },
      nic: { words: bundle },
      'nic diff': { words: [this.#folder, this.#folder] },
      doctor: { words: [...bundle, '--provider', 'tcpx'] },
      watch: { words: ['--nics', 'lo', '--count', '1', '--interval-ms', '50'], hasLines: true },
      ...this.#irqCases(bundle, tree, result),
      ...this.#diagCases(trace),
      devices: { words: ['--plugin', emulatorPath], environment: emulatorVariables },
      'plugin check': {
        words: [emulatorPath, '--nics', 'eth1'],
        environment: { ...emulatorVariables, NIXL_TCPX_TCPX_STATE_DIR: this.#folder },
      },
      'trace diff': { words: [trace, trace] },
      'trace summary': { words: [trace] },
      env: { words: bundle, isCode: true },
      'env diff': { words: [variables, variables] },
      config: { words: [] },
      completion: { words: ['bash'], isCode: true },
      library: { words: [], isCode: true },
    };
  }

  /** A search path with a shell and none of the programs that would be compared. */
  #shellAlone(): string {
    symlinkSync('/bin/bash', join(this.#folder, 'bash'));
    return this.#folder;
  }

  #diagCases(trace: string): Record<string, WalkCase> {
    const out = ['--out', join(this.#folder, 'bundles')];
    return {
      'diag run': { words: out, rest: ['echo', 'done'] },
      // Finds what the case before it has collected.
      'diag latest': { words: out, isCode: true },
      'diag analyze': { words: [this.#folder], exitCode: 1 },
      'diag diff': { words: [this.#folder, this.#folder] },
      'diag stall': { words: [trace] },
      'diag status': { words: out },
      'experiment run': { words: ['--dry-run', '--seed', '1', '--state', this.#folder] },
      'experiment report': { words: [this.#experiment()] },
      nccl: { words: ['2', '8', '0', '1', '--print'], isCode: true },
    };
  }

  /** One that was begun and has no run yet. */
  #experiment(): string {
    const folder = join(this.#folder, 'experiment');
    const plan = builtInPlan('irq-binding', []);
    saveRecord(folder, {
      schema: EXPERIMENT_SCHEMA,
      ...{ plan, words: ['tcpx'], nics: ['lo'], seed: 1, hostname: 'node-a', version: '0' },
      ...{ startedAt: '', state: 'interrupted', placement: { kind: 'rps', text: 'RPS' } },
      ...{ isEmulated: true, txBindings: '', rxBindings: '', skipped: [], dropped: [] },
      ...{ runs: [], isCapped: false, interruptCpus: {} },
    });
    return folder;
  }

  #irqCases(
    bundle: readonly string[],
    tree: readonly string[],
    result: string,
  ): Record<string, WalkCase> {
    return {
      'irq show': { words: [...bundle, '--vectors'] },
      'irq plan': { words: [...bundle, '--policy', 'nccl'] },
      'irq apply': { words: [...tree, '--nic', 'eth1', '--cores', '8-21', '--no-baseline'] },
      // Judges what the case before it has applied.
      'irq verify': { words: [...tree, '--irqs-only', '--seconds', '0'] },
      'irq rollback': { words: [...tree, '--state', this.#folder], exitCode: 1 },
      'irq baseline': { words: [...tree, result, result, result] },
      'irq run': { words: [...tree, '--policy', 'nccl'], rest: ['true'] },
      'irq mask': { words: ['0-3'] },
      'irq threads': { words: [String(process.pid)] },
    };
  }
}
