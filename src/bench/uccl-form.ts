// The forms of UCCL's TCPX benchmarks, for those who come from them: `server GPU` and
// `client IP GPU`, their variables and defaults, and the lines that their tools look for in logs.
// Pure. Their programs divide by 2^30 and say GB; here GB is 10^9 bytes, and the log says so.

import { assert } from '../base/assert.js';
import type { Config, Environment } from '../base/config.js';
import { SETTING_NAMES, settingOf } from '../base/settings.js';
import type { BenchReport } from './bench-message.js';
import type { BenchResult } from './bench-result.js';
import { deriveConfig, type SettingChanges } from './derived-config.js';

const VARIABLE = /^UCCL_TCPX_/;
const ORIGIN = 'default of the UCCL form';
const DEFAULTS = { 'bench.sizeBytes': 4 * 1024 * 1024, 'bench.iterations': 10 } as const;

export interface UcclSigns {
  /** A GPU stands on the command line as a word. */
  readonly hasGpu: boolean;
  readonly environment: Environment;
}

/** undefined where nothing asks for that form. */
export function applyUcclForm(config: Config, signs: UcclSigns): Config | undefined {
  const hasVariable = Object.entries(signs.environment).some(
    ([name, text]) => VARIABLE.test(name) && text !== undefined && text !== '',
  );
  if (!signs.hasGpu && !hasVariable) return undefined;
  // One server for each GPU of a host, each with a port of its own.
  const port = signs.hasGpu ? { 'session.portIndex': config.values['bench.gpu'] } : {};
  const wanted: SettingChanges = { ...DEFAULTS, ...port };
  const changed = config.effective.filter(
    ({ name, origin }) => origin === 'default' && name in wanted,
  );
  const fresh = Object.fromEntries(
    changed.map(({ name }) => [name, wanted[name]]),
  ) as SettingChanges;
  return deriveConfig(config, fresh, ORIGIN);
}

/** Variables of UCCL that nothing here reads, and what does that work instead. */
const IDLE: Readonly<Record<string, string>> = {
  UCCL_HOME: 'no script is looked for',
  UCCL_TCPX_LAUNCH_DEBUG: '--trace-dir has every step of a chunk',
  UCCL_TCPX_KERNEL_DEBUG: '--trace-dir has every step of a chunk',
  UCCL_TCPX_PROBE_BYTE: 'every byte is checked: --verify',
  UCCL_TCPX_USE_STAGING: 'the path is named in the result',
  UCCL_TCPX_PORT_RETRIES: 'a port that is taken is an error: --port',
  UCCL_TCPX_CTRL_IP: '--bind or --ctrl has the address',
  UCCL_P2P_TRANSPORT: '--provider',
  UCCL_TCP_OOB_PORT: '--port',
  UCCL_RCMODE: 'of RDMA',
  UCCL_P2P_DISABLE_IPC: '--local tcp',
};

/** One line on those that are set and change nothing; undefined without any. */
export function idleVariables(environment: Environment): string | undefined {
  const read = new Set(SETTING_NAMES.flatMap((name) => settingOf(name).aliases ?? []));
  const idle = Object.keys(environment)
    .filter((name) => (environment[name] ?? '') !== '')
    .filter((name) => name in IDLE || (VARIABLE.test(name) && !read.has(name)))
    .sort()
    .map((name) => `${name} (${IDLE[name] ?? 'not known'})`);
  return idle.length === 0 ? undefined : `without meaning here: ${idle.join(', ')}`;
}

/** `bench_client_20260131_235958.log`, in local time. */
export function logName(role: 'server' | 'client' | 'info', time: Date): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const date = `${time.getFullYear()}${two(time.getMonth() + 1)}${two(time.getDate())}`;
  const clock = `${two(time.getHours())}${two(time.getMinutes())}${two(time.getSeconds())}`;
  return `bench_${role}_${date}_${clock}.log`;
}

const UNIT = '[PERF] GB means 10^9 bytes';

export function clientLines(result: BenchResult, gpu: number): string[] {
  const { samples, bandwidthGBps, bytesMoved, iterations } = result;
  assert(bytesMoved !== undefined, 'a run of this version says what it moved');
  const bytes = bytesMoved / iterations;
  const { every = 1, values = [] } = samples?.bandwidthGBps ?? {};
  return [
    `[PERF] GPU: ${gpu}`,
    `[PERF] total bytes=${bytes}, chunk_bytes=${result.chunkBytes}, channels=${result.channels}`,
    ...values.map((rate, index) => `[PERF] Iter ${index * every} time=${ms(bytes, rate)}ms`),
    `[PERF] Avg: ${average(bytes, bandwidthGBps.mean)}`,
    UNIT,
  ];
}

export function serverLines(peer: string, report: BenchReport, gpu: number): string[] {
  const { iterations, bytes, meanGBps } = report;
  return [
    `[PERF] GPU: ${gpu}`,
    `[PERF] client ${peer}, ${report.op}, ${verdict(report)}`,
    `[PERF] Avg (${iterations} iter): ${average(bytes / iterations, meanGBps)}`,
    UNIT,
  ];
}

function verdict({ isOk, checked }: BenchReport): string {
  if (!isOk) return 'WRONG BYTES';
  return checked === 0 ? 'nothing was checked' : 'every check passed';
}

function average(bytes: number, rateGBps: number): string {
  return `${ms(bytes, rateGBps)} ms, BW: ${rateGBps.toFixed(2)} GB/s`;
}

function ms(bytes: number, rateGBps: number): string {
  return (bytes / rateGBps / 1e6).toFixed(3);
}
