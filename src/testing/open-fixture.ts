// A made-up host, opened as readers open a capture.

import type { FileTree } from '../host/file-tree.js';
import { captureProbes } from '../host/probes.js';
import type { HostSource } from '../host/read-host.js';
import { openTreeFiles } from '../host/tree-files.js';
import type { HostSpec } from './host-spec.js';
import { buildHostTree } from './host-tree.js';

export function openFixture(spec: HostSpec): HostSource {
  return openFixtureTree(buildHostTree(spec));
}

export function openFixtureTree(tree: FileTree): HostSource {
  const files = openTreeFiles(tree, 'fixture');
  return { files, probes: captureProbes(files) };
}
