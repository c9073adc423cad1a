// What a turn of a channel, or one frame in it, came to.

// Outcomes of a turn.
export const TURN_IDLE = 0;
export const TURN_MOVED = 1;
/** The peer closed its end. */
export const TURN_ENDED = -1;
/** The main thread gave the channel up. */
export const TURN_DROPPED = -2;
/** TURN_DAMAGED − part: what came is not what was sent, and the stream cannot be followed. */
export const TURN_DAMAGED = -10;
/** Below this: TURN_RULE − rule (the peer broke it), or −errno offset by TURN_SYSTEM. */
export const TURN_RULE = -100;
export const TURN_SYSTEM = -1000;

// What a frame asks for, besides a broken rule (TURN_RULE − rule).
export const FRAME_TAKEN = 1;
/** More bytes, or room in the event ring, are needed first. */
export const FRAME_WAITS = 0;
