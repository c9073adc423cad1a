// One good encoding of each thing that agents send each other as metadata: what tests truncate and
// fuzzers change.

import { encodeRegDlist, encodeXferDlist } from '../../src/nixl/descriptor-codec.js';
import { encodeListenerFrame } from '../../src/nixl/listener-message.js';
import { MemType } from '../../src/nixl/memory-type.js';
import { encodeMetadata } from '../../src/nixl/metadata.js';
import { encodeNotification } from '../../src/nixl/notif-codec.js';
import { XferDlist } from '../../src/nixl/xfer-dlist.js';

const FRAME_HEAD_BYTES = 8;

const blob = encodeMetadata({
  agent: 'peer',
  connections: [{ type: 'TCPX', info: Buffer.from('tcpx-conn/1 instance=0 port=1 hosts=::1') }],
  sections: [
    {
      type: 'TCPX',
      memType: MemType.DRAM,
      descs: [
        { addr: 4096, len: 64, devId: 0, metaInfo: Buffer.from('key') },
        { addr: 8192, len: 64, devId: 0 },
      ],
    },
  ],
});

export const METADATA_EXAMPLES = {
  blob,
  xferDlist: encodeXferDlist(new XferDlist(MemType.VRAM).add(1, 2, 3).add(4, 5, 6)),
  regDlist: encodeRegDlist({ memType: MemType.DRAM, descs: [{ addr: 1, len: 2, devId: 3 }] }),
  notification: encodeNotification({ agent: 'a', message: Buffer.from('hello') }),
  /** Bodies of the frames to a listener: one that loads, one that asks, one that invalidates. */
  listenerBodies: [
    encodeListenerFrame({ verb: 'LOAD', blob }).subarray(FRAME_HEAD_BYTES),
    encodeListenerFrame({ verb: 'SEND' }).subarray(FRAME_HEAD_BYTES),
    encodeListenerFrame({ verb: 'INVL', agent: 'peer' }).subarray(FRAME_HEAD_BYTES),
  ],
} as const;
