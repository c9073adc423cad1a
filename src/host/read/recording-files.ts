// Remembers what the readers read, so that a capture holds exactly the files they need and no
// other, and never falls behind when a reader learns to read one more.

import { type FileTree, relativeLink, type TreeEntry } from './file-tree.js';
import type { HostFiles } from './host-files.js';

export interface RecordingFiles extends HostFiles {
  /** Everything read, listed or followed so far. */
  recorded(): FileTree;
}

export function recordFiles(files: HostFiles): RecordingFiles {
  const entries = new Map<string, TreeEntry>();
  const known = new Set<string>();
  const canonical = (path: string): string => {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const parent = files.realPath(path.slice(0, path.lastIndexOf('/')) || '/') ?? '';
    return `${parent === '/' ? '' : parent}/${name}`;
  };
  const note = (path: string, text: string | undefined): string | undefined => {
    if (text === undefined) return undefined;
    const mode = files.mode(path) ?? 0o444;
    // /proc/self and /proc/net lead to the reading process itself: keep the name that was asked.
    const place = path.startsWith('/proc/') ? path : (files.realPath(path) ?? path);
    entries.set(place, { kind: 'file', text, mode });
    return text;
  };
  return {
    ...files,
    read: (path) => note(path, files.read(path)),
    need: (path) => note(path, files.need(path)),
    list: (path) => {
      const names = files.list(path);
      const real = files.realPath(path);
      // The process table is private; what a reader wants of it, it reads.
      if (real === undefined || real === '/proc') return names;
      for (const name of names) known.add(`${real}/${name}`);
      return names;
    },
    realPath: (path) => {
      const real = files.realPath(path);
      if (real === undefined) return undefined;
      const place = canonical(path);
      if (place !== real) entries.set(place, linkTo(place, real));
      known.add(real);
      return real;
    },
    isFolder: (path) => {
      const isFolder = files.isFolder(path);
      const real = files.realPath(path);
      if (isFolder && real !== undefined) known.add(real);
      return isFolder;
    },
    recorded: () => withPlaceholders(files, entries, known),
  };
}

function linkTo(place: string, real: string): TreeEntry {
  return { kind: 'link', target: relativeLink(place.slice(0, place.lastIndexOf('/')), real) };
}

/** Names that were only seen, such as those in `msi_irqs`, become empty files or folders. */
function withPlaceholders(
  files: HostFiles,
  entries: ReadonlyMap<string, TreeEntry>,
  known: ReadonlySet<string>,
): FileTree {
  const tree = new Map(entries);
  for (const path of known) {
    if (tree.has(path)) continue;
    tree.set(path, files.isFolder(path) ? { kind: 'folder' } : { kind: 'file', text: '' });
  }
  return new Map([...tree].sort(([a], [b]) => (a < b ? -1 : 1)));
}
