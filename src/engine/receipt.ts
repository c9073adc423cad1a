// What a transfer did, from counters that the lanes keep anyway: no system call is made for it.

export interface ChannelReceipt {
  readonly channel: number;
  /** Interface that the channel was bound to; empty where routing decides. */
  readonly nic: string;
  readonly bytes: number;
  readonly chunks: number;
}

export interface Receipt {
  readonly peer: string;
  /** How the bytes went: `tcp host` is kernel TCP, memory in place. */
  readonly path: 'tcp host';
  readonly trust: string;
  readonly operation: 'write' | 'read' | 'notify';
  readonly bytes: number;
  readonly bytesConfirmed: number;
  readonly chunks: number;
  /** Chunks and notifications that had to be sent again. */
  readonly retries: number;
  /** Of them: chunks that had arrived with a wrong checksum (flow.checksum). */
  readonly damaged: number;
  readonly channels: readonly ChannelReceipt[];
  /** Post to confirmation; to now while it is in flight. */
  readonly durationUs: number;
}
