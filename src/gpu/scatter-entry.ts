// Layout and limits of the plugin's fragment lists, and the rules a list must keep.
//
//   one entry, 16 bytes:  0 u32 source offset │ 4 u32 length │ 8 u64 target offset

export const ENTRY_BYTES = 16;
/** 32-bit words per entry. */
export const ENTRY_PARTS = 4;
/** 32-bit words of a packed entry: source offset; target offset above the length. */
export const PACKED_PARTS = 2;
export const PACKED_LENGTH_BITS = 13;
/** More than the 128 pages of a 512 KiB chunk; a launch copies the room for all of them. */
export const PACKED_FRAGMENTS_MAX = 144;
/** For checkFragments: nothing is packed. */
export const NOT_PACKED = new Uint32Array(0);
/** Fragments of one chunk: the plugin's slot has room for no more. */
export const FRAGMENTS_MAX = 2048;
/** Chunks in one unpack: the plugin's ring has as many slots. */
export const CHUNKS_MAX = 16;

/** What checkFragments answers when a list is wrong; a good list gives its longest fragment. */
export const ScatterRule = {
  TooManyFragments: -1,
  /** A fragment reaches beyond the bounce buffer. */
  SourceBounds: -2,
  /** A fragment reaches beyond the message. */
  TargetBounds: -3,
  /** The fragments together are not as long as the message. */
  Sum: -4,
} as const;
