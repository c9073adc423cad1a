// A property that a fuzzer hammers: *.fuzz.ts beside the source export FUZZ_TARGETS, `npm test`
// runs each a bounded number of times, `npm run fuzz` for as long as asked. A failure is told by
// seed: the same seed and number of runs give the same inputs.

import fc from 'fast-check';
import { isTcpxError } from '../../src/base/errors.js';

export interface FuzzTarget {
  /** `unit: what must hold`. */
  readonly name: string;
  /** Runs of one batch: what `npm test` does, well below a second or two. */
  readonly runs: number;
  readonly property: fc.IAsyncProperty<[unknown]>;
  /** After each batch: lets go of what the property keeps between runs; may fail too. */
  close(): Promise<void>;
}

export interface FuzzFailure {
  readonly seed: number;
  /** The smallest input that fails, as text. */
  readonly input: string;
  readonly reason: string;
}

export function fuzzTarget<T>(
  name: string,
  options: { readonly runs: number; readonly close?: () => Promise<void> },
  inputs: fc.Arbitrary<T>,
  check: (input: T) => void | Promise<void>,
): FuzzTarget {
  const property = fc.asyncProperty<[unknown]>(inputs, async (input) => {
    await check(input as T);
  });
  return { name, runs: options.runs, property, close: options.close ?? (() => Promise.resolve()) };
}

/** One batch; undefined when the property held throughout. */
export async function runBatch(target: FuzzTarget, seed: number): Promise<FuzzFailure | undefined> {
  const details = await fc.check(target.property, { seed, numRuns: target.runs });
  // After a failure too: what stays open would keep the process, and hide that it has failed.
  const unclosed = await closeBatch(target, seed);
  if (!details.failed) return unclosed;
  const input = fc.stringify(details.counterexample);
  return { seed, input, reason: reasonOf(details.errorInstance) };
}

async function closeBatch(target: FuzzTarget, seed: number): Promise<FuzzFailure | undefined> {
  try {
    await target.close();
    return undefined;
  } catch (error) {
    return { seed, input: 'the batch as a whole', reason: reasonOf(error) };
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** What a decoder owes to any input: a value, or an error of one of these kinds. */
export function decodesOrRefuses<I, O>(
  decode: (input: I) => O,
  input: I,
  codes: RegExp,
): O | undefined {
  try {
    return decode(input);
  } catch (error) {
    if (isTcpxError(error) && codes.test(error.code)) return undefined;
    throw error;
  }
}
