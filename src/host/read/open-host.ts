// Opens the host to be read: this machine, a captured tree in a folder, or a capture file.

import { readFileSync, statSync } from 'node:fs';
import { TcpxError, toTcpxError } from '../../base/errors.js';
import { unpackCapture } from '../capture/capture.js';
import { type HostFiles, openFolderFiles } from './host-files.js';
import { liveProbes } from './live-probes.js';
import { captureProbes } from './probes.js';
import type { HostSource } from './read-host.js';
import { openTreeFiles } from './tree-files.js';

export function openHost(root = '/'): HostSource {
  const kind = rootKind(root);
  if (kind === 'file') {
    const files = openTreeFiles(unpackCapture(readArchive(root), root), root);
    checkTree(files);
    return { files, probes: captureProbes(files) };
  }
  const files = openFolderFiles(root);
  checkTree(files);
  return { files, probes: files.isLive ? liveProbes(files) : captureProbes(files) };
}

/** Some other folder or archive would read as a host about which nothing is known. */
function checkTree(files: HostFiles): void {
  if (files.isLive || files.isFolder('/proc') || files.isFolder('/sys')) return;
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `root ${files.root}: holds neither proc nor sys, so it is no tree of a host`,
    { facts: { root: files.root } },
  );
}

function rootKind(root: string): 'file' | 'folder' {
  try {
    return statSync(root).isFile() ? 'file' : 'folder';
  } catch (error) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', `root ${root}: no such folder or capture file`, {
      facts: { root },
      cause: error,
    });
  }
}

function readArchive(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw toTcpxError(error, 'ERR_USAGE_ARGUMENT', `read capture ${path}`);
  }
}
