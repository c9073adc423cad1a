// Both ends on this machine, in two processes.

import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Config,
  isByHand,
  loadConfig,
  processEnvironment,
  setDefaultVariables,
} from '../base/config.js';
import { ERROR_CODES, type ErrorCode, TcpxError } from '../base/errors.js';
import { launchUrl } from '../base/launch.js';
import type { Log } from '../base/log.js';
import { environmentName, SETTING_NAMES, settingOf } from '../base/settings.js';
import { STATE_FOLDER_VARIABLE } from '../host/read/emulated-nics.js';
import type { BenchResult } from './bench-result.js';
import { type BenchSessionOptions, runBench } from './bench-session.js';
import type { BenchInterval } from './interval-meter.js';
import type { Turns } from './turns.js';

export interface LoopbackOptions {
  readonly config: Config;
  readonly log: Log;
  readonly stop?: AbortSignal | undefined;
  onProgress: BenchSessionOptions['onProgress'];
  onPartial?(result: BenchResult): void;
  onInterval?(interval: BenchInterval): void;
  /** Told the process id of the target, for those who want to watch or kill it. */
  onTarget?(pid: number): void;
  /** Where others take turns with this one. */
  readonly turns?: Turns | undefined;
}

const START_TIMEOUT_MS = 15_000;
const EXIT_TIMEOUT_MS = 2000;

export async function runLoopback(options: LoopbackOptions): Promise<BenchResult> {
  const config = withOneTimeSecret(options.config);
  prepareEmulator(config);
  const target = await openLoopbackTarget(config);
  try {
    const { port } = target;
    options.onTarget?.(target.pid);
    return await runBench({
      config,
      log: options.log,
      host: '127.0.0.1',
      port,
      turns: options.turns,
      stop: options.stop,
      onProgress: (fraction, rate, channels) => options.onProgress(fraction, rate, channels),
      onPartial: (result) => options.onPartial?.(result),
      onInterval: (interval) => options.onInterval?.(interval),
    });
  } finally {
    await target.close();
  }
}

export interface LoopbackTarget {
  readonly pid: number;
  readonly port: number;
  close(): Promise<void>;
}

/** A process that plays the target for as many initiators as `bench.initiators` says. */
export async function openLoopbackTarget(config: Config): Promise<LoopbackTarget> {
  const target = forkWith(config, 'loopback-target-main.js');
  try {
    const port = await awaitPort(target);
    return { pid: target.pid ?? 0, port, close: () => endChild(target) };
  } catch (error) {
    await endChild(target);
    throw error;
  }
}

// Both ends are on this host, which the emulator refuses as the plugin does, unless told. A real
// plugin does not look at that.
export function prepareEmulator(config: Config): void {
  if (config.values['engine.provider'] !== 'tcpx') return;
  setDefaultVariables({ TCPX_EMU_SAME_HOST: '1' });
  prepareEmulatorCounters(config);
}

// The emulator counts packets in a folder, which all processes of an end share. It is for all runs
// of this process: a variable that is set once outlives the first of them.
export function prepareEmulatorCounters(config: Config): void {
  if (config.values['engine.provider'] !== 'tcpx') return;
  if (processEnvironment()[STATE_FOLDER_VARIABLE] !== undefined) return;
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-counters-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  setDefaultVariables({ [STATE_FOLDER_VARIABLE]: folder });
}

// The two processes trust each other and nobody else.
export function withOneTimeSecret(config: Config): Config {
  const secret = randomBytes(24).toString('base64url');
  const options = { ...config.values, 'trust.secret': secret, 'trust.secretFile': '' };
  const fresh = loadConfig({ options });
  // Origins as the user knows them: what was a default stays one.
  return { values: fresh.values, effective: config.effective };
}

/** A process of ours with these settings, whatever this one's environment says, and `more`. */
export function forkWith(
  config: Config,
  main: string,
  more: Readonly<Record<string, string>> = {},
): ChildProcess {
  const environment: Record<string, string | undefined> = { ...processEnvironment() };
  for (const name of SETTING_NAMES) {
    // What nobody has set is left to the target: it would take our choice for a firm wish.
    const isOurs = isByHand(config, name) || config.values[name] !== settingOf(name).fallback;
    for (const alias of settingOf(name).aliases ?? []) environment[alias] = undefined;
    environment[environmentName(name)] = isOurs ? String(config.values[name]) : undefined;
  }
  // What it says is among them, unless somebody has overruled it.
  environment[environmentName('engine.profile')] = undefined;
  return fork(fileURLToPath(launchUrl(`bench/${main}`)), {
    env: { ...environment, ...more },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: [],
  });
}

async function awaitPort(target: ChildProcess): Promise<number> {
  const limit = AbortSignal.timeout(START_TIMEOUT_MS);
  const failed = once(target, 'exit', { signal: limit }).then(([code, signal]) => {
    throw new TcpxError('ERR_PEER_LOST', `bench target ended at start: ${String(code ?? signal)}`);
  });
  const started = once(target, 'message', { signal: limit }).then(([message]) => {
    const { port, code, message: reason } = message as Partial<Record<string, unknown>>;
    if (typeof port === 'number') return port;
    if (typeof code === 'string' && code in ERROR_CODES) {
      throw new TcpxError(code as ErrorCode, `bench target: ${String(reason)}`);
    }
    throw new TcpxError('ERR_PEER_REFUSED', 'bench target did not name its port');
  });
  failed.catch(() => undefined);
  try {
    return await Promise.race([started, failed]);
  } catch (error) {
    if (error instanceof TcpxError) throw error;
    throw new TcpxError('ERR_PEER_TIMEOUT', `bench target did not start in ${START_TIMEOUT_MS} ms`);
  }
}

export async function endChild(target: ChildProcess): Promise<void> {
  if (target.exitCode !== null || target.signalCode !== null) return;
  const timer = setTimeout(() => target.kill('SIGKILL'), EXIT_TIMEOUT_MS);
  if (target.connected) target.disconnect();
  await once(target, 'exit');
  clearTimeout(timer);
}
