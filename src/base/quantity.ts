// Kinds of numbers that stand beside each other in calls where an exchange would move wrong bytes.
// A plain number is any of them; a number of one kind is none of another. They exist for the
// compiler alone.

declare const kind: unique symbol;

interface Kind<Name extends string> {
  readonly [kind]?: Name;
}

/** Of memory of this process, or of a GPU. */
export type Address = number & Kind<'address'>;
export type ByteCount = number & Kind<'byte count'>;
/** From the start of a region, a mapping or a message. */
export type ByteOffset = number & Kind<'byte offset'>;
/** Place in the table of regions. */
export type RegionSlot = number & Kind<'region slot'>;
/** Place in the table of transfers. */
export type TransferSlot = number & Kind<'transfer slot'>;
/** Which user of a place it is: the place is used again. */
export type Generation = number & Kind<'generation'>;
/** Of a transfer; −1 is its notification. */
export type ChunkIndex = number & Kind<'chunk index'>;
/** Of a session's channels, tcp or plugin. */
export type ChannelIndex = number & Kind<'channel index'>;
/** Place of a channel in its plugin process. */
export type ChannelSlot = number & Kind<'channel slot'>;
/** Counts the connections of a channel, or the set-ups of a plugin's channels. */
export type Epoch = number & Kind<'epoch'>;
export type SessionIndex = number & Kind<'session index'>;
export type LaneIndex = number & Kind<'lane index'>;
/** Of a matched transfer, given by its initiator. */
export type TransferNumber = number & Kind<'transfer number'>;
/** Of a plan on its way, given by each end for itself. */
export type FlightNumber = number & Kind<'flight number'>;
/** Of a chunk, counted alike at both ends. */
export type Tag = number & Kind<'tag'>;
/** Addresses that a plugin has given out: what one call takes, another would crash on. */
export type CommHandle = number & Kind<'comm'>;
export type RequestHandle = number & Kind<'request'>;
export type MemoryHandle = number & Kind<'memory handle'>;
