// A capture of this machine: the files that the readers read, plus what was asked of drivers and
// tools as JSON. Reading it back gives the same model.

import { gunzipSync, gzipSync } from 'node:zlib';
import { TcpxError } from '../../base/errors.js';
import type { FileTree, TreeEntry } from '../read/file-tree.js';
import type { HostModel } from '../read/model.js';
import { CAPTURE_PATHS, type HostProbes } from '../read/probes.js';
import { type HostSource, readHost } from '../read/read-host.js';
import { recordFiles } from '../read/recording-files.js';
import { decodeTar, encodeTar } from './tar.js';

const UNPACKED_BYTES_MAX = 256 * 1024 * 1024;

export interface HostCapture {
  readonly model: HostModel;
  readonly tree: FileTree;
}

export function captureHost(source: HostSource, capturedAt: Date): HostCapture {
  const files = recordFiles(source.files);
  const answers = new Map<string, string>();
  const model = readHost({ files, probes: recordProbes(source.probes, answers) });
  const manifest = {
    schema: 'tcpx.capture/1',
    hostname: model.hostname,
    kernelRelease: model.kernelRelease,
    capturedAt: capturedAt.toISOString(),
    gaps: model.gaps,
  };
  answers.set(CAPTURE_PATHS.manifest, JSON.stringify(manifest, null, 2));
  const tree = new Map<string, TreeEntry>(trimPrivate(files.recorded(), model));
  for (const [path, text] of answers) tree.set(path, { kind: 'file', text: `${text}\n` });
  return { model, tree };
}

function recordProbes(probes: HostProbes, answers: Map<string, string>): HostProbes {
  const keep = <T>(path: string, answer: T): T => {
    if (answer !== undefined) {
      answers.set(path, typeof answer === 'string' ? answer : JSON.stringify(answer));
    }
    return answer;
  };
  return {
    ethtool: (nic) => keep(CAPTURE_PATHS.ethtool(nic), probes.ethtool(nic)),
    netdevQueues: () => keep(CAPTURE_PATHS.netdevQueues, probes.netdevQueues()),
    addresses: () => keep(CAPTURE_PATHS.addresses, probes.addresses()),
    nvidiaSmi: () => keep(CAPTURE_PATHS.nvidiaSmi, probes.nvidiaSmi()),
  };
}

// Of the process table only the writers of interrupt affinity leave the machine, and of 208 equal
// paragraphs about CPUs one is enough.
function trimPrivate(tree: FileTree, model: HostModel): [string, TreeEntry][] {
  const pids = new Set(model.writers.map((writer) => String(writer.pid)));
  const kept: [string, TreeEntry][] = [];
  for (const [path, entry] of tree) {
    const pid = /^\/proc\/(\d+)(?:\/|$)/.exec(path)?.[1];
    if (pid !== undefined && !pids.has(pid)) continue;
    const isCpuinfo = path === '/proc/cpuinfo' && entry.kind === 'file';
    kept.push([path, isCpuinfo ? { ...entry, text: firstParagraph(entry.text) } : entry]);
  }
  return kept;
}

function firstParagraph(text: string): string {
  const end = text.indexOf('\n\n');
  return end < 0 ? text : text.slice(0, end + 1);
}

export function packCapture(tree: FileTree, capturedAt: Date): Buffer {
  return gzipSync(encodeTar(tree, Math.floor(capturedAt.getTime() / 1000)), { level: 9 });
}

export function unpackCapture(bytes: Buffer, name: string): FileTree {
  let archive: Buffer;
  try {
    archive = gunzipSync(bytes, { maxOutputLength: UNPACKED_BYTES_MAX });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new TcpxError('ERR_USAGE_ARGUMENT', `${name} is no capture file (.tgz): ${reason}`, {
      cause: error,
    });
  }
  return decodeTar(archive);
}

/** `tcpx-host-NAME-20250131-120000.tgz`: machine and time in the name. */
export function captureFileName(hostname: string | undefined, capturedAt: Date): string {
  const stamp = capturedAt.toISOString().replace(/[-:]/g, '').replace('T', '-').slice(0, 15);
  return `tcpx-host-${(hostname ?? 'unknown').replace(/[^\w.-]/g, '_')}-${stamp}.tgz`;
}
