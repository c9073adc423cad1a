// Sequence numbers of one stream's launches and the flag in mapped host memory that the last block
// of each writes: seeing a launch's number there means that all it wrote is visible.
// The GPU writes the flag, the CPU reads it; nobody else touches the word.

export class GpuCompletion {
  private readonly flag: Int32Array;
  private issued = 0;

  constructor(flag: Int32Array) {
    this.flag = flag;
  }

  /** The number for the next launch; numbers wrap, comparison minds that. */
  take(): number {
    this.issued = (this.issued + 1) | 0;
    return this.issued;
  }

  get lastIssued(): number {
    return this.issued;
  }

  /** True for this launch and, launches of a stream being in order, for all before it. */
  isDone(sequence: number): boolean {
    return ((Atomics.load(this.flag, 0) - sequence) | 0) >= 0;
  }

  /** Looks at the flag up to `turns` times; true as soon as the launch is done. */
  spin(sequence: number, turns: number): boolean {
    for (let turn = 0; turn < turns; turn++) {
      if (((Atomics.load(this.flag, 0) - sequence) | 0) >= 0) return true;
    }
    return false;
  }
}
