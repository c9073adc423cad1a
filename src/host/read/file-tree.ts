// A tree of files as plain data: what a capture holds, what fixtures build. Paths are absolute
// below the tree's root, without a trailing slash.

export type TreeEntry =
  | { readonly kind: 'file'; readonly text: string; readonly mode?: number }
  | { readonly kind: 'link'; readonly target: string }
  | { readonly kind: 'folder' };

export type FileTree = ReadonlyMap<string, TreeEntry>;

/** Folder in which a capture keeps what no file of the host holds: ethtool, netlink, addresses. */
export const CAPTURE_FOLDER = '/tcpx-capture';

/** sysfs links are relative, so that a copied tree still holds together. */
export function relativeLink(fromFolder: string, target: string): string {
  const from = fromFolder.split('/').slice(1);
  const to = target.split('/').slice(1);
  let common = 0;
  while (common < from.length && from[common] === to[common]) common++;
  return [...from.slice(common).map(() => '..'), ...to.slice(common)].join('/');
}
