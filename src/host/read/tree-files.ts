// The files of a host that lie in memory: an opened capture, or a generated fixture.

import type { FileTree, TreeEntry } from './file-tree.js';
import { compareNames, type HostFiles } from './host-files.js';
import type { ReadGap } from './read-gap.js';

const LINKS_MAX = 40;

export function openTreeFiles(tree: FileTree, root: string): HostFiles {
  const gaps: ReadGap[] = [];
  const children = indexChildren(tree);
  const realPath = (path: string) => resolvePath(tree, path);
  const entryAt = (path: string): TreeEntry | undefined => {
    const real = realPath(path);
    return real === undefined ? undefined : tree.get(real);
  };
  const read = (path: string): string | undefined => {
    const entry = entryAt(path);
    return entry?.kind === 'file' ? entry.text : undefined;
  };
  return {
    root,
    isLive: false,
    gaps,
    read,
    need: (path) => {
      const text = read(path);
      if (text === undefined) gaps.push({ path, reason: 'ENOENT' });
      return text;
    },
    list: (path) => {
      const real = realPath(path);
      return real === undefined ? [] : [...(children.get(real) ?? [])].sort(compareNames);
    },
    realPath: (path) => {
      const real = realPath(path);
      return real !== undefined && (tree.has(real) || children.has(real)) ? real : undefined;
    },
    isFolder: (path) => {
      const real = realPath(path);
      return real !== undefined && (tree.get(real)?.kind === 'folder' || children.has(real));
    },
    mode: (path) => {
      const entry = entryAt(path);
      return entry?.kind === 'file' ? entry.mode : undefined;
    },
  };
}

function indexChildren(tree: FileTree): Map<string, Set<string>> {
  const children = new Map<string, Set<string>>();
  for (const path of tree.keys()) {
    // Every ancestor counts: an archive need not list its folders.
    for (let child = path; child !== ''; ) {
      const parent = child.slice(0, child.lastIndexOf('/'));
      const names = children.get(parent) ?? new Set<string>();
      children.set(parent, names);
      names.add(child.slice(parent.length + 1));
      child = parent;
    }
  }
  return children;
}

function resolvePath(tree: FileTree, path: string): string | undefined {
  const pending = path.split('/').reverse();
  let real: string[] = [];
  let linkCount = 0;
  while (pending.length > 0) {
    const name = pending.pop();
    if (name === undefined || name === '' || name === '.') continue;
    if (name === '..') {
      real.pop();
      continue;
    }
    const entry = tree.get(`/${[...real, name].join('/')}`);
    if (entry?.kind !== 'link') {
      real.push(name);
      continue;
    }
    if (++linkCount > LINKS_MAX) return undefined;
    if (entry.target.startsWith('/')) real = [];
    pending.push(...entry.target.split('/').reverse());
  }
  return `/${real.join('/')}`;
}
