// The whole send path of a chunk (claim, head, iovec, acknowledgement) over a port that swallows
// everything, so that no system call is in the figure.

import { LaneEnd } from '../../../../test/support/lane-end.js';
import type { MicroCase, OpenMicroCase } from '../../../../test/support/micro-bench.js';
import { setIov } from '../../../ffi/libc/message.hot.js';
import { createIovTable, destroyIovTable } from '../../../ffi/libc/message.js';
import { type StreamPort, WOULD_BLOCK } from '../port/stream-port.js';
import { sendTurn } from './channel-send.hot.js';
import { onAck } from './frame-handlers.hot.js';
import { TRANSFER_CLAIM, TRANSFER_REMAINING, transferWord } from './layout.js';

const CHUNK_BYTES = 64 * 1024;
const WINDOW = 16;
const CHUNKS = 64;

class SwallowingPort implements StreamPort {
  readonly fd = -1;
  readonly isByReference = false;
  readonly #table = createIovTable();
  #bytes = 0;

  setSend(index: number, addr: number, bytes: number): void {
    setIov(this.#table, index, addr, bytes);
    this.#bytes += bytes;
  }

  send(): number {
    const bytes = this.#bytes;
    this.#bytes = 0;
    return bytes;
  }

  advanceSend(): number {
    throw new Error('nothing is ever left over');
  }

  setReceive(): void {
    // Nothing ever comes.
  }

  receive(): number {
    return WOULD_BLOCK;
  }

  queuedBytes(): number {
    return 0;
  }

  isPathSilent(): boolean {
    return false;
  }

  close(): void {
    destroyIovTable(this.#table);
  }
}

// One transfer is posted anew, by its two counters, each time that all its chunks are confirmed.
function openSend(): OpenMicroCase {
  const bytes = CHUNKS * CHUNK_BYTES;
  const end = new LaneEnd({ channels: 1, windowChunks: WINDOW, chunkBytes: CHUNK_BYTES });
  end.addChannel(new SwallowingPort());
  const local = end.regions.register(new Uint8Array(bytes), { read: true, write: false });
  const remote = { slot: 1, generation: 1, bytes, key: '0'.repeat(32) };
  const slot = end.post('write', [{ local, localOffset: 0, remote, remoteOffset: 0, bytes }]);
  end.step();
  const { core } = end;
  const channel = core.channels[0];
  if (channel === undefined) throw new Error('no channel');
  onAck(core, channel, channel.writes.next);
  const claimWord = transferWord(core.transfersAt, slot, TRANSFER_CLAIM);
  const remainingWord = transferWord(core.transfersAt, slot, TRANSFER_REMAINING);
  return {
    run: (operations) => {
      for (let done = 0; done < operations; done += CHUNKS) {
        Atomics.store(core.int32, claimWord, 0);
        Atomics.store(core.int32, remainingWord, CHUNKS + 1);
        const end = (channel.writes.next + CHUNKS) | 0;
        while (channel.writes.next !== end) {
          if (sendTurn(core, channel) !== 1) throw new Error('nothing was sent');
          onAck(core, channel, channel.writes.next);
        }
      }
    },
    close: () => end.destroy(),
  };
}

export const MICRO_CASES: readonly MicroCase[] = [
  {
    name: 'lane: claim, frame, gather and confirm one chunk',
    operations: 256_000,
    open: openSend,
  },
];
