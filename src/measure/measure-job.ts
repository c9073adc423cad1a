// What a measuring thread is told to do.

export type MeasureJob =
  | { readonly kind: 'throw trips'; readonly ball: Int32Array; readonly tripsPerLook: number }
  | { readonly kind: 'answer trips'; readonly ball: Int32Array }
  | { readonly kind: 'throw wakes'; readonly addr: number; readonly bytes: number }
  | { readonly kind: 'answer wakes'; readonly addr: number; readonly bytes: number }
  | { readonly kind: 'send stream'; readonly port: number; readonly congestion: string }
  | { readonly kind: 'receive stream'; readonly listenerFd: number };

export interface PinnedJob {
  readonly job: MeasureJob;
  readonly cpus: readonly number[];
}

export type MeasureAnswer = { readonly figure: number } | { readonly error: string };
