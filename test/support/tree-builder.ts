// Collects the entries of a made-up tree; parent folders come by themselves.

import type { TreeEntry } from '../../src/host/read/file-tree.js';

export class TreeBuilder {
  readonly entries = new Map<string, TreeEntry>();

  file(path: string, text: string | number, mode = 0o444): void {
    this.addParents(path);
    this.entries.set(path, { kind: 'file', text: `${text}\n`, mode });
  }

  raw(path: string, text: string): void {
    this.addParents(path);
    this.entries.set(path, { kind: 'file', text, mode: 0o444 });
  }

  link(path: string, target: string): void {
    this.addParents(path);
    this.entries.set(path, { kind: 'link', target });
  }

  folder(path: string): void {
    this.addParents(path);
    if (!this.entries.has(path)) this.entries.set(path, { kind: 'folder' });
  }

  private addParents(path: string): void {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const parent = path.slice(0, end);
      if (this.entries.has(parent)) return;
      this.entries.set(parent, { kind: 'folder' });
    }
  }
}
