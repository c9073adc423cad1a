// Records on the rings between the main thread and a lane; payloads are Int32 words.

// main → lane
/** [slot] */
export const COMMAND_SUBMIT = 1;
/** [fd, session, channel, epoch, windowChunks, chunkBytesMax, channels, checked, whose], link */
export const COMMAND_ADD_CHANNEL = 2;
export const ADD_CHANNEL_WORDS = 9;
/** [session] */
export const COMMAND_CLOSE_SESSION = 3;
/** [slot, generation] */
export const COMMAND_CANCEL = 4;
/** [session, channel, epoch] Close this end of the channel and say so. */
export const COMMAND_DROP_CHANNEL = 5;
/** [session, channel, epoch, landed, damaged, refusals], [sequence, reason] …: a peer's fence. */
export const COMMAND_SETTLE_CHANNEL = 6;
/** [slot, generation, chunk] Chunk −1 is the notification. */
export const COMMAND_RETRY = 7;
/** [slot, generation] One chunk, or the notification, has nowhere to go. */
export const COMMAND_GIVE_UP = 8;
/** [session] Look once more at what has come: it may break a rule. */
export const COMMAND_LOOK = 9;
/** [GPU] Memory of it will be named from now on. */
export const COMMAND_OPEN_DEVICE = 16;

// lane → main
/** [slot, generation] */
export const EVENT_FINISHED = 1;
/** [session, bytes, number among all notifications, 0] then the bytes */
export const EVENT_NOTIFICATION = 2;
/** [session, channel, epoch, loss, detail, frameKind, landed, refusals], [sequence, reason] … */
export const EVENT_CHANNEL_DOWN = 3;
/** [session] */
export const EVENT_SESSION_CLOSED = 4;
/** [session, channel, reason, regionSlot] */
export const EVENT_REFUSED = 5;
/** [] A control socket or the listener has something. */
export const EVENT_CONTROL_READY = 6;
/** [slot, generation, chunk] Its channel is gone; chunk −1 is the notification. */
export const EVENT_RETRY = 7;
/** [session, channel, epoch, one of STALLED_…] */
export const EVENT_STALLED = 8;
/** [session, bytes, 0, 0] then the bytes */
export const EVENT_SIGNAL = 9;
/** [bytes] then the text: this lane cannot use a GPU. */
export const EVENT_DEVICE_FAILED = 16;
/** [bytes] then the text: chunks of a GPU go by copy in this lane. */
export const EVENT_DEVICE_COPIES = 17;

/** It moves again; it stands still; its peer does not let go of a region that shall be free. */
export const STALLED_NO = 0;
export const STALLED_YES = 1;
export const STALLED_HOLDS = 2;

/** Words of EVENT_CHANNEL_DOWN and of COMMAND_SETTLE_CHANNEL before the refusals. */
export const DOWN_EVENT_WORDS = 8;
export const SETTLE_COMMAND_WORDS = 6;

// How a channel was lost.
/** The peer closed its end. */
export const LOSS_END_OF_STREAM = 1;
/** A system call failed; detail is the errno. */
export const LOSS_SYSTEM = 2;
/** The peer broke a rule; detail is the rule. */
export const LOSS_PROTOCOL = 3;
/** Main asked for it: it stood still, or the peer had closed its end. */
export const LOSS_DROPPED = 4;
/** What came is not what was sent; detail is the part that was hit. */
export const LOSS_DAMAGED = 5;

// Parts of a frame whose damage ends the channel.
export const PART_HEAD = 1;
export const PART_TABLE = 2;
/** The payload of a NOTIFY or SIGNAL. */
export const PART_MESSAGE = 3;
