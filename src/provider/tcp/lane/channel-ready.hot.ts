// Whether a channel's port is worth trying: from the last wake-up, or from a full read or write.

export class ChannelReady {
  isReadable = true;
  isWritable = true;
  /** The peer has closed its end: the end lies behind the bytes that are there, unannounced. */
  isEnding = false;
  /** The descriptor tells of this many bytes and more. */
  wakeBytes = 1;

  onReadable(): void {
    this.isReadable = true;
  }

  onWritable(): void {
    this.isWritable = true;
  }

  /** From here on a short read does not mean that there is no more. */
  onEnding(): void {
    this.isEnding = true;
  }

  /** Nothing more to read until the descriptor tells. */
  onEmpty(): void {
    this.isReadable = false;
  }

  /** No room to write until the descriptor tells. */
  onFull(): void {
    this.isWritable = false;
  }

  /** Nobody watches the descriptor: every turn tries. */
  tryAll(mayReceive: boolean): void {
    this.isReadable = mayReceive;
    this.isWritable = true;
  }

  setWake(bytes: number): void {
    this.wakeBytes = bytes;
  }
}
