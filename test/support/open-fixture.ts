// A made-up host, opened as readers open a capture.

import type { FileTree } from '../../src/host/read/file-tree.js';
import { captureProbes } from '../../src/host/read/probes.js';
import type { HostSource } from '../../src/host/read/read-host.js';
import { openTreeFiles } from '../../src/host/read/tree-files.js';
import type { HostSpec } from './host-spec.js';
import { buildHostTree } from './host-tree.js';

export function openFixture(spec: HostSpec): HostSource {
  return openFixtureTree(buildHostTree(spec));
}

export function openFixtureTree(tree: FileTree): HostSource {
  const files = openTreeFiles(tree, 'fixture');
  return { files, probes: captureProbes(files) };
}
