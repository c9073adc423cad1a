// The records on the rings, for docs/shared-layout.md.

import * as messages from '../../src/provider/tcp/lane/messages.js';
import { markdownTable } from './markdown-table.js';

type Row = readonly [name: keyof typeof messages, payload: string, meaning: string];

const COMMANDS: readonly Row[] = [
  ['COMMAND_SUBMIT', 'slot', 'a transfer entry is ready'],
  [
    'COMMAND_ADD_CHANNEL',
    'fd, session, channel, epoch, windowChunks, chunkBytesMax, channels, checked, whose, ' +
      'address (2) and side of shared memory',
    'the socket is the lane’s from here on',
  ],
  ['COMMAND_LOOK', 'session', 'look once more at what has come: it may break a rule'],
  ['COMMAND_CLOSE_SESSION', 'session', 'give up what is in flight, then answer'],
  ['COMMAND_CANCEL', 'slot, generation', 'give up what is not sent'],
  ['COMMAND_DROP_CHANNEL', 'session, channel, epoch', 'close this end of the channel and say so'],
  [
    'COMMAND_SETTLE_CHANNEL',
    'session, channel, epoch, landed, refusals, then sequence and reason of each',
    'the peer’s fence: confirm what landed, hand back the rest',
  ],
  ['COMMAND_RETRY', 'slot, generation, chunk', 'send a chunk (−1: the notification) again'],
  ['COMMAND_GIVE_UP', 'slot, generation', 'a chunk, or the notification, has nowhere to go'],
  ['COMMAND_OPEN_DEVICE', 'GPU', 'memory of this GPU will be named from now on'],
];

const EVENTS: readonly Row[] = [
  ['EVENT_FINISHED', 'slot, generation', 'a transfer is done or has failed'],
  [
    'EVENT_NOTIFICATION',
    'session, bytes, number among all notifications, 0, then the bytes',
    'a peer sent a notification',
  ],
  [
    'EVENT_CHANNEL_DOWN',
    'session, channel, epoch, loss, detail, frameKind, landed, refusals, ' +
      'then sequence and reason of each',
    'a channel is closed here',
  ],
  ['EVENT_STALLED', 'session, channel, epoch, 1 or 0', 'a channel stands still, or moves again'],
  ['EVENT_SIGNAL', 'session, bytes, 0, 0, then the bytes', 'the peer’s engine says something'],
  ['EVENT_RETRY', 'slot, generation, chunk', 'a chunk (−1: the notification) lost its channel'],
  ['EVENT_SESSION_CLOSED', 'session', 'this lane has let go of the session'],
  ['EVENT_REFUSED', 'session, channel, reason, regionSlot', 'an access of a peer was refused'],
  ['EVENT_CONTROL_READY', 'nothing', 'a control socket or the listener has something'],
  ['EVENT_DEVICE_FAILED', 'bytes, then the text', 'the lane cannot use a GPU'],
  ['EVENT_DEVICE_COPIES', 'bytes, then the text', 'slots of a GPU cannot go by reference'],
];

const LOSSES: readonly Row[] = [
  ['LOSS_END_OF_STREAM', 'none', 'the peer closed its end'],
  ['LOSS_SYSTEM', 'errno', 'a system call failed'],
  ['LOSS_PROTOCOL', 'rule', 'the peer broke a rule of the protocol'],
  ['LOSS_DROPPED', 'none', 'the main thread gave it up'],
  ['LOSS_DAMAGED', 'part', 'a head, table or message came damaged; the part that did'],
];

const PARTS: readonly Row[] = [
  ['PART_HEAD', '64 bytes', 'the head of a frame'],
  ['PART_TABLE', 'its entries', 'the table behind a head'],
  ['PART_MESSAGE', 'its bytes', 'a notification or a signal'],
];

const STANDSTILLS: readonly Row[] = [
  ['STALLED_NO', 'none', 'something moves again'],
  ['STALLED_YES', 'none', 'nothing moves on the channel'],
  ['STALLED_HOLDS', 'none', 'its peer stays in a region that is being deregistered'],
];

export function renderRecords(headerBytes: number): string {
  return [
    '## Records',
    '',
    `A record has a header of ${headerBytes} bytes (length, kind; each 32 bits) and a payload of`,
    '32-bit words, padded to 8 bytes. It is never split: one that would not fit before the end of',
    'the ring is preceded by a filler of kind 0. The writer publishes any number of records with',
    'one store of `tail`.',
    '',
    'Commands, main → lane:',
    '',
    table('payload', COMMANDS),
    'Events, lane → main:',
    '',
    table('payload', EVENTS),
    'How a channel was lost (`loss` of `EVENT_CHANNEL_DOWN`):',
    '',
    table('detail', LOSSES),
    'How a channel stands still (`EVENT_STALLED`):',
    '',
    table('detail', STANDSTILLS),
    'What came damaged (detail of `LOSS_DAMAGED`):',
    '',
    table('covers', PARTS),
  ].join('\n');
}

function table(second: string, rows: readonly Row[]): string {
  return markdownTable(
    ['kind', 'name', second, 'meaning'],
    rows.map(([name, payload, meaning]) => [
      String(messages[name]),
      `\`${name}\``,
      payload,
      meaning,
    ]),
  );
}
