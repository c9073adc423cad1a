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
