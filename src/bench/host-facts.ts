// What a figure must name to mean anything: machine, kernel, versions.

import { readFileSync } from 'node:fs';
import { cpus, hostname, release } from 'node:os';
import { nearCongestion } from '../engine/tuned-config.js';
import type { HostFacts } from './bench-result.js';

/** Of connections to near peers, where it depends on the distance. */
export function readHostFacts(congestion: string): HostFacts {
  const processors = cpus();
  return {
    hostname: hostname(),
    cpu: processors[0]?.model ?? 'unknown',
    cores: processors.length,
    kernel: release(),
    node: process.version,
    version: packageVersion(),
    congestion: nearCongestion(congestion),
  };
}

function packageVersion(): string {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  return /"version": "([^"]+)"/.exec(text)?.[1] ?? 'unknown';
}
