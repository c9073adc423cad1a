// A made-up tree read as a host, for tests that start from the model.

import type { FileTree } from '../host/file-tree.js';
import type { HostModel } from '../host/model.js';
import { captureProbes } from '../host/probes.js';
import { readHost } from '../host/read-host.js';
import { openTreeFiles } from '../host/tree-files.js';

export function readFixtureHost(tree: FileTree): HostModel {
  const files = openTreeFiles(tree, 'fixture');
  return readHost({ files, probes: captureProbes(files) });
}
