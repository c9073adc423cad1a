// Whether accept waits for the receive datapath manager. The plugin asks it for a steering rule
// over a Unix socket, in a thread of its own and without a limit; all that can be seen is that
// socket: it appeared after the plugin was initialised, and it stays.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { assert } from '../../../base/assert.js';

const LOOK_MS = 200;

export class RxdmWatch {
  readonly #limitMs: number;
  readonly #list: () => ReadonlySet<string>;
  #before: ReadonlySet<string> = new Set();
  readonly #sinceMs = new Map<string, number>();
  #lookedMs = Number.NEGATIVE_INFINITY;
  #underWay = 0;

  constructor(limitMs: number, list: () => ReadonlySet<string> = ownUnixSockets) {
    this.#limitMs = limitMs;
    this.#list = list;
  }

  /** Before the first call of an accept: what is open now belongs to none. */
  begin(nowMs: number): void {
    this.#underWay++;
    if (this.#underWay > 1) return;
    this.#before = this.#list();
    this.#sinceMs.clear();
    this.#lookedMs = nowMs;
  }

  /** An accept has ended: the manager answers, so what others wait for has its time anew. */
  end(): void {
    assert(this.#underWay > 0, 'an accept was under way');
    this.#underWay--;
    this.#sinceMs.clear();
  }

  /** Asked again and again while accept is under way: a request has had no answer for the limit. */
  isSilent(nowMs: number): boolean {
    assert(this.#underWay > 0, 'asked while accept is under way');
    if (nowMs >= this.#lookedMs + LOOK_MS) this.#look(nowMs);
    return [...this.#sinceMs.values()].some((sinceMs) => nowMs - sinceMs >= this.#limitMs);
  }

  #look(nowMs: number): void {
    const open = this.#list();
    this.#lookedMs = nowMs;
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
