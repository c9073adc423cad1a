// What could not be read.

/** A source that was asked for and did not answer. Absence is reported, never guessed over. */
export interface ReadGap {
  readonly path: string;
  /** An errno name, or what was wrong with the content. */
  readonly reason: string;
}
