// What a figure must name to mean anything: machine, kernel, versions.

import { readFileSync } from 'node:fs';
import { cpus, hostname, release } from 'node:os';
import type { HostFacts } from './bench-result.js';

export function readHostFacts(congestion: string): HostFacts {
  const processors = cpus();
  return {
    hostname: hostname(),
    cpu: processors[0]?.model ?? 'unknown',
    cores: processors.length,
    kernel: release(),
    node: process.version,
    version: packageVersion(),
    congestion: congestion === '' ? kernelCongestion() : congestion,
  };
}

function kernelCongestion(): string {
  try {
    return readFileSync('/proc/sys/net/ipv4/tcp_congestion_control', 'utf8').trim();
  } catch {
    return 'unknown';
  }
}

function packageVersion(): string {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  return /"version": "([^"]+)"/.exec(text)?.[1] ?? 'unknown';
}
