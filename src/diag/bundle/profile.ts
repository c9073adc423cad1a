// A profile of the command by perf, where perf is installed: its report goes into the bundle, its
// raw data does not.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { withinMs } from '../../base/clock.js';
import type { BundleWriter } from './bundle-writer.js';

const NAME = 'perf_report.txt';
const STOP_MS = 5000;
const REPORT_MS = 60_000;
const REPORT_BYTES_MAX = 4 * 1024 * 1024;

export class Profile {
  private readonly writer: BundleWriter;
  private readonly path: string;
  private child: ChildProcess | undefined;
  private fault: string | undefined;

  constructor(writer: BundleWriter) {
    this.writer = writer;
    this.path = join(writer.folder, 'perf.data');
  }

  start(pid: number): void {
    const words = ['record', '-q', '-F', '49', '-g', '-o', this.path, '-p', String(pid)];
    const child = spawn('perf', words, { stdio: 'ignore' });
    child.once('error', (error: NodeJS.ErrnoException) => {
      this.fault = error.code === 'ENOENT' ? 'perf is not installed' : (error.code ?? 'failed');
    });
    this.child = child;
  }

  async finish(): Promise<void> {
    const { child } = this;
    if (child !== undefined && child.exitCode === null && this.fault === undefined) {
      const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
      child.kill('SIGINT');
      await withinMs(ended, STOP_MS);
      child.kill('SIGKILL');
    }
    this.writer.write(NAME, this.fault ?? this.report());
    rmSync(this.path, { force: true });
  }

  private report(): string {
    try {
      const words = ['report', '--stdio', '--no-children', '-g', 'none', '-i', this.path];
      return execFileSync('perf', words, {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
        timeout: REPORT_MS,
        maxBuffer: REPORT_BYTES_MAX,
      });
    } catch (error) {
      return `perf made no report: ${error instanceof Error ? error.message : String(error)}\n`;
    }
  }
}
