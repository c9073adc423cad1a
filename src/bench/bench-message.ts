// What the two ends of a benchmark tell each other, as notifications of the engine itself.
// JSON, checked on receipt: the peer is trusted to be ours, not to be right.

import { TcpxError } from '../base/errors.js';
import { plainText } from '../base/foreign-text.js';
import type { ChannelCounters, RegionDescriptor } from '../engine/internal.js';
import type { MemoryKind } from './bench-memory.js';
import type { HostFacts } from './bench-result.js';
import type { EndUsage } from './end-usage.js';
import type { LanePauses } from './lane-pauses.js';

export type BenchMessage =
  /** Initiator → target: allocate, register, describe yourself. */
  | {
      readonly kind: 'setup';
      readonly sizeBytes: number;
      readonly blockBytes: number;
      readonly memory: MemoryKind;
      /** Twice that size: the first half is written, the second read. */
      readonly isBoth: boolean;
    }
  | { readonly kind: 'ready'; readonly region: RegionDescriptor; readonly host: HostFacts }
  /** Before a timed window: fill for a read, note the CPU time. */
  | { readonly kind: 'prepare'; readonly seed: number; readonly isFill: boolean }
  | ({ readonly kind: 'prepared' } & EndUsage)
  /** After it: note the CPU time, check what landed. */
  | { readonly kind: 'check'; readonly seed: number; readonly isVerify: boolean }
  | ({ readonly kind: 'checked'; readonly mismatchAt: number } & EndUsage)
  /** Answer pings in the given region of the initiator until `count` have come. */
  | {
      readonly kind: 'pong';
      readonly region: RegionDescriptor;
      readonly count: number;
      readonly bytes: number;
    }
  | { readonly kind: 'ponging' }
  /** What the target's kernel has counted on the channels so far, and its lanes' pauses. */
  | { readonly kind: 'count' }
  | {
      readonly kind: 'counted';
      readonly channels: readonly ChannelCounters[];
      readonly pauses?: LanePauses | undefined;
    }
  /** Warm: measure as soon as all initiators are, which is when `begun` comes. */
  | { readonly kind: 'begin' }
  | { readonly kind: 'begun' }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'finish'; readonly report: BenchReport };

/** What an initiator tells the target of its run. */
export interface BenchReport {
  readonly op: string;
  readonly iterations: number;
  readonly bytes: number;
  readonly medianGBps: number;
  readonly meanGBps: number;
  readonly latencyP50Us: number;
  readonly isOk: boolean;
  /** Iterations whose every byte was compared. */
  readonly checked: number;
}

const CHANNELS_MAX = 64;
const REPORT_OP_MAX = 20;

type Check = (field: unknown) => boolean;
const isCount: Check = (field) => Number.isSafeInteger(field) && (field as number) >= 0;
const isSize: Check = (field) => isCount(field) && field !== 0;
const isIndex: Check = (field) => isCount(field) || field === -1;
const isTime: Check = (field) => typeof field === 'number' && field >= 0;
const isFlag: Check = (field) => typeof field === 'boolean';
const isText: Check = (field) => typeof field === 'string';
const isOptionalText: Check = (field) => field === undefined || isText(field);
const isMemory: Check = (field) => field === 'dram' || field === 'vram';
const isObject: Check = (field) => typeof field === 'object' && field !== null;

/** What each kind must carry; nothing else may come along. */
const FIELDS: Readonly<Record<BenchMessage['kind'], Readonly<Record<string, Check>>>> = {
  setup: { sizeBytes: isSize, blockBytes: isCount, memory: isMemory, isBoth: isFlag },
  ready: { region: isDescriptor, host: isObject },
  prepare: { seed: isCount, isFill: isFlag },
  prepared: { cpuUs: isTime, intake: isOptionalIntake, threads: isOptionalText },
  check: { seed: isCount, isVerify: isFlag },
  checked: {
    cpuUs: isTime,
    mismatchAt: isIndex,
    intake: isOptionalIntake,
    threads: isOptionalText,
  },
  pong: { region: isDescriptor, count: isCount, bytes: isSize },
  ponging: {},
  count: {},
  counted: { channels: isCounters, pauses: isOptionalPauses },
  failed: { reason: isText },
  begin: {},
  begun: {},
  finish: { report: isReport },
};

/** Beyond any message but a count of many channels. */
const WORD_BYTES = 2048;

/**
 * As long whatever its numbers are, so that the kernel's byte counts of two runs can be held
 * against each other: spaces behind JSON mean nothing.
 */
export function encodeBenchMessage(message: BenchMessage): string {
  const text = JSON.stringify(message);
  return text.padEnd(Math.ceil(text.length / WORD_BYTES) * WORD_BYTES);
}

export function decodeBenchMessage(bytes: Uint8Array): BenchMessage {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes)); // checked: below, field by field
  } catch (error) {
    throw new TcpxError('ERR_WIRE_FRAME', 'benchmark message is not JSON', { cause: error });
  }
  if (typeof value !== 'object' || value === null || !('kind' in value)) throw malformed('object');
  const kind = String(value.kind);
  if (!isKind(kind)) throw malformed(kind);
  const fields = value as Record<string, unknown>;
  for (const [name, check] of Object.entries(FIELDS[kind])) {
    if (!check(fields[name])) throw malformed(`${kind}.${name}`);
  }
  const stranger = Object.keys(fields).find(
    (name) => name !== 'kind' && !Object.hasOwn(FIELDS[kind], name),
  );
  if (stranger !== undefined) throw malformed(`${kind}.${stranger}`);
  return value as BenchMessage;
}

function isKind(kind: string): kind is BenchMessage['kind'] {
  return Object.hasOwn(FIELDS, kind);
}

function isOptionalPauses(field: unknown): boolean {
  if (field === undefined) return true;
  if (typeof field !== 'object' || field === null || Object.keys(field).length !== 3) return false;
  const { count, totalUs, longestUs } = field as Partial<Record<string, unknown>>;
  return isCount(count) && isTime(totalUs) && isTime(longestUs);
}

function isReport(field: unknown): boolean {
  if (typeof field !== 'object' || field === null || Object.keys(field).length !== 8) return false;
  const { op, iterations, bytes, checked, medianGBps, meanGBps, latencyP50Us, isOk } =
    field as Partial<Record<string, unknown>>;
  const isOp = isText(op) && (op as string).length <= REPORT_OP_MAX;
  return (
    isOp &&
    [iterations, bytes, checked].every(isCount) &&
    isRates([medianGBps, meanGBps, latencyP50Us], isOk)
  );
}

function isRates(rates: readonly unknown[], isOk: unknown): boolean {
  return rates.every(isTime) && isFlag(isOk);
}

function isDescriptor(field: unknown): boolean {
  if (typeof field !== 'object' || field === null) return false;
  const { slot, generation, bytes, key } = field as Partial<Record<string, unknown>>;
  const isNumeric = [slot, generation, bytes].every(isCount);
  return isNumeric && typeof key === 'string' && /^[0-9a-f]{32}$/.test(key);
}

/** Of each channel: the kernel's numbers, and the name of its interface. */
const COUNTERS: readonly (keyof ChannelCounters)[] = [
  'channel',
  'epoch',
  'retransmits',
  'bytesAcked',
  'bytesReceived',
  'busyUs',
  'receiveLimitedUs',
  'sendBufferLimitedUs',
  'rttUs',
  'rttMinUs',
  'congestionWindow',
  'deliveryBytesPerSecond',
];

function isCounters(field: unknown): boolean {
  if (!Array.isArray(field) || field.length > CHANNELS_MAX) return false;
  return field.every((one: unknown) => {
    if (typeof one !== 'object' || one === null) return false;
    const counters = one as Partial<Record<string, unknown>>;
    const isWhole = Object.keys(counters).length === COUNTERS.length + 1;
    return isWhole && isText(counters['nic']) && COUNTERS.every((name) => isIndex(counters[name]));
  });
}

function isOptionalIntake(field: unknown): boolean {
  if (field === undefined) return true;
  if (!Array.isArray(field) || field.length > CHANNELS_MAX) return false;
  return field.every((one: unknown) => {
    if (typeof one !== 'object' || one === null || Object.keys(one).length !== 3) return false;
    const { nic, bytes, packets } = one as Partial<Record<string, unknown>>;
    return isText(nic) && isCount(bytes) && isIndex(packets);
  });
}

function malformed(what: string): TcpxError {
  return new TcpxError('ERR_WIRE_FRAME', `benchmark message: ${what} is not as it should be`);
}

/** Asks and waits for the answer; one question at a time. */
export class BenchDialogue {
  readonly #send: (message: BenchMessage) => void;
  #onAnswer: ((message: BenchMessage) => void) | undefined;
  #onFailure: ((error: TcpxError) => void) | undefined;
  #failure: TcpxError | undefined;

  constructor(send: (message: BenchMessage) => void) {
    this.#send = send;
  }

  receive(message: BenchMessage): void {
    if (message.kind === 'failed') {
      this.fail(
        new TcpxError('ERR_PEER_REFUSED', `the target cannot go on: ${plainText(message.reason)}`),
      );
      return;
    }
    this.#onAnswer?.(message);
    this.#onAnswer = undefined;
  }

  /** Nothing is answered any more: the question that waits fails, and every later one. */
  fail(error: TcpxError): void {
    this.#failure = error;
    this.#onFailure?.(error);
    this.#onFailure = undefined;
  }

  async ask<K extends BenchMessage['kind']>(
    question: BenchMessage,
    kind: K,
    timeoutMs: number,
  ): Promise<Extract<BenchMessage, { kind: K }>> {
    if (this.#failure !== undefined) throw this.#failure;
    const answer = await new Promise<BenchMessage>((resolve, reject) => {
      const timer = setTimeout(
        () =>
          reject(
            new TcpxError('ERR_PEER_TIMEOUT', `no ${kind} from the target in ${timeoutMs} ms`),
          ),
        timeoutMs,
      );
      this.#onAnswer = (message) => {
        clearTimeout(timer);
        resolve(message);
      };
      this.#onFailure = (error) => {
        clearTimeout(timer);
        reject(error);
      };
      this.#send(question);
    });
    if (answer.kind !== kind) throw malformed(`${answer.kind} where ${kind} is due`);
    return answer as Extract<BenchMessage, { kind: K }>;
  }
}
