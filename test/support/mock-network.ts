// The world that MOCK backends share: memory with addresses of its own, agents by name, and faults
// on demand. One per test, so that tests do not see each other.

import { assert } from '../../src/base/assert.js';

const PAGE_BYTES = 4096;

export interface MockBlock {
  readonly addr: number;
  readonly bytes: Uint8Array;
}

export class MockNetwork {
  readonly #blocks: MockBlock[] = [];
  #nextAddr = 0x10_0000;
  readonly agents = new Map<string, object>();
  /** Polls that a transfer takes before it ends; 0 ends inside the post. */
  pollsPerTransfer = 0;
  /** How often a release of a running transfer answers "not yet". */
  refusedReleases = 0;
  /** While true, every call of a backend is kept in `calls` as `agent.method`, in order. */
  isRecording = false;
  readonly calls: string[] = [];
  readonly #callCounts = new Map<string, number>();

  /** Memory that any agent may register. Gaps between blocks catch runs over the end. */
  allocate(byteCount: number): MockBlock {
    const block = { addr: this.#nextAddr, bytes: new Uint8Array(byteCount) };
    this.#nextAddr += Math.ceil(byteCount / PAGE_BYTES) * PAGE_BYTES + PAGE_BYTES;
    this.#blocks.push(block);
    return block;
  }

  /** The bytes behind an address range, or undefined where no block holds all of it. */
  find(addr: number, len: number): Uint8Array | undefined {
    const block = this.#blocks.find(
      (candidate) =>
        candidate.addr <= addr && addr + len <= candidate.addr + candidate.bytes.length,
    );
    return block?.bytes.subarray(addr - block.addr, addr - block.addr + len);
  }

  /** The agent disappears as if its process had died: nobody is told. */
  kill(agent: string): void {
    assert(this.agents.delete(agent), `agent ${agent} exists`);
  }

  note(agent: string, method: string): void {
    const call = `${agent}.${method}`;
    this.#callCounts.set(call, (this.#callCounts.get(call) ?? 0) + 1);
    if (this.isRecording) this.calls.push(call);
  }

  /** How often `agent`’s backend was asked for `method`. */
  callCount(agent: string, method: string): number {
    return this.#callCounts.get(`${agent}.${method}`) ?? 0;
  }
}
