// Records on the rings between the main thread and a lane; payloads are Int32 words.

// main → lane
/** [slot] */
export const COMMAND_SUBMIT = 1;
/** [fd, session, channel, windowChunks, chunkBytesMax, channels] */
export const COMMAND_ADD_CHANNEL = 2;
/** [session] */
export const COMMAND_CLOSE_SESSION = 3;
/** [slot, generation] */
export const COMMAND_CANCEL = 4;
/** [GPU] Memory of it will be named from now on. */
export const COMMAND_OPEN_DEVICE = 16;

// lane → main
/** [slot, generation] */
export const EVENT_FINISHED = 1;
/** [session, bytes, number among all notifications, 0] then the bytes */
export const EVENT_NOTIFICATION = 2;
/** [session, channel, loss, detail, frameKind] */
export const EVENT_CHANNEL_LOST = 3;
/** [session] */
export const EVENT_SESSION_CLOSED = 4;
/** [session, channel, reason, regionSlot] */
export const EVENT_REFUSED = 5;
/** [] A control socket or the listener has something. */
export const EVENT_CONTROL_READY = 6;
/** [bytes] then the text: this lane cannot use a GPU. */
export const EVENT_DEVICE_FAILED = 16;

// How a channel was lost.
/** The peer closed its end. */
export const LOSS_END_OF_STREAM = 1;
/** A system call failed; detail is the errno. */
export const LOSS_SYSTEM = 2;
/** The peer broke a rule; detail is the rule. */
export const LOSS_PROTOCOL = 3;
