// A made-up tree read as a host, for tests that start from the model.

import type { FileTree } from '../../src/host/read/file-tree.js';
import type { HostModel } from '../../src/host/read/model.js';
import { captureProbes } from '../../src/host/read/probes.js';
import { readHost } from '../../src/host/read/read-host.js';
import { openTreeFiles } from '../../src/host/read/tree-files.js';

export function readFixtureHost(tree: FileTree): HostModel {
  const files = openTreeFiles(tree, 'fixture');
  return readHost({ files, probes: captureProbes(files) });
}
