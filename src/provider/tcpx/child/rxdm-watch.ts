// Whether accept waits for the receive datapath manager. The plugin asks it for a steering rule
// over a Unix socket, in a thread of its own and without a limit; all that can be seen is that
// socket: it appeared after the plugin was initialised, and it stays.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

const LOOK_MS = 200;
/** No accept was under way for so long: what is open now belongs to none. */
const REST_MS = 1000;

export class RxdmWatch {
  readonly #limitMs: number;
  readonly #list: () => ReadonlySet<string>;
  #before: ReadonlySet<string> = new Set();
  readonly #sinceMs = new Map<string, number>();
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(limitMs: number, list: () => ReadonlySet<string> = ownUnixSockets) {
    this.#limitMs = limitMs;
    this.#list = list;
  }

  /**
   * Asked again and again while accept is under way, from its first poll on: whether a request has
   * been without an answer for the limit.
   */
  isSilent(nowMs: number): boolean {
    if (nowMs >= this.#lookedMs + LOOK_MS) this.#look(nowMs);
    return [...this.#sinceMs.values()].some((sinceMs) => nowMs - sinceMs >= this.#limitMs);
  }

  #look(nowMs: number): void {
    const open = this.#list();
    const isFresh = nowMs >= this.#lookedMs + REST_MS;
    this.#lookedMs = nowMs;
    if (isFresh) {
      this.#before = open;
      this.#sinceMs.clear();
      return;
    }
    for (const inode of this.#sinceMs.keys()) if (!open.has(inode)) this.#sinceMs.delete(inode);
    for (const inode of open) {
      if (!this.#before.has(inode) && !this.#sinceMs.has(inode)) this.#sinceMs.set(inode, nowMs);
    }
  }
}

/** Inodes of the Unix sockets that this process holds. */
function ownUnixSockets(): Set<string> {
  const unix = new Set(
    [...readFileSync('/proc/self/net/unix', 'utf8').matchAll(/^\S+: (?:\S+ ){5} *(\d+)/gm)].map(
      ([, inode = '']) => inode,
    ),
  );
  const own = readdirSync('/proc/self/fd').map((fd) => socketInode(`/proc/self/fd/${fd}`));
  return new Set(own.filter((inode) => unix.has(inode)));
}

function socketInode(path: string): string {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(path))?.[1] ?? '';
  } catch {
    // Closed since it was listed.
    return '';
  }
}
