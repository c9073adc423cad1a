// What the processes of a mesh tell each other: each one its conductor, and back. JSON, checked on
// receipt: a peer is trusted to be ours, not to be right.

import { ERROR_CODES, type ErrorCode, TcpxError } from '../../base/errors.js';
import type { BenchResult } from '../bench-result.js';

/** Of these messages; processes of another one are refused by it. */
export const MESH_PROTOCOL = 2;

/** One GPU of one process. */
export interface MeshWorkerFacts {
  readonly gpu: number;
  /** Empty where none is bound. */
  readonly nic: string;
  /** On which its target listens. */
  readonly port: number;
}

export interface MeshHello {
  readonly kind: 'hello';
  readonly protocol: number;
  readonly version: string;
  readonly rank: number;
  readonly size: number;
  readonly hostname: string;
  /** Alike for processes that share a network stack. */
  readonly node: string;
  /** What every process must have alike, by name. */
  readonly terms: Readonly<Record<string, string>>;
  readonly workers: readonly MeshWorkerFacts[];
}

/** One worker's part of a round. */
export interface MeshOrder {
  /** Its place among the workers of its process. */
  readonly worker: number;
  readonly host: string;
  readonly port: number;
  /** For this pair; empty where none is bound. */
  readonly nic: string;
  /** A GPU of this node that is behind it. */
  readonly railGpu: number;
}

/** Relative to when the round was started: clocks of hosts differ. */
export interface MeshWindow {
  readonly fromMs: number;
  readonly toMs: number;
}

export type MeshMessage =
  | MeshHello
  /** Conductor → all: measure these; each says when it is warm. */
  | { readonly kind: 'round'; readonly round: number; readonly orders: readonly MeshOrder[] }
  | { readonly kind: 'warm'; readonly round: number; readonly worker: number }
  | { readonly kind: 'go'; readonly round: number }
  | {
      readonly kind: 'result';
      readonly round: number;
      readonly worker: number;
      readonly window: MeshWindow;
      readonly result: BenchResult;
    }
  /** To the conductor: this process was told to end. To all: end what is under way. */
  | { readonly kind: 'stop'; readonly message: string }
  /** Either way: nothing goes on. */
  | {
      readonly kind: 'failed';
      readonly code: ErrorCode;
      readonly message: string;
      /** Not what another's failure may have led to. */
      readonly isCause: boolean;
    }
  /** Conductor → all: every pair has been measured. */
  | { readonly kind: 'end'; readonly ok: boolean };

type Check = (field: unknown) => boolean;
const isCount: Check = (field) => Number.isSafeInteger(field) && (field as number) >= 0;
const isPort: Check = (field) =>
  isCount(field) && (field as number) > 0 && (field as number) < 65536;
const isText: Check = (field) => typeof field === 'string' && field.length <= TEXT_MAX;
const isFlag: Check = (field) => typeof field === 'boolean';
const isTime: Check = (field) => typeof field === 'number' && Number.isFinite(field);
const isCode: Check = (field) => typeof field === 'string' && Object.hasOwn(ERROR_CODES, field);

const TEXT_MAX = 4096;
const LIST_MAX = 64;

const WORKER = { gpu: isCount, nic: isText, port: isPort };
const ORDER = { worker: isCount, host: isText, port: isPort, nic: isText, railGpu: isCount };
const WINDOW = { fromMs: isTime, toMs: isTime };

const FIELDS: Readonly<Record<MeshMessage['kind'], Readonly<Record<string, Check>>>> = {
  hello: {
    protocol: isCount,
    version: isText,
    rank: isCount,
    size: isCount,
    hostname: isText,
    node: isText,
    terms: isTerms,
    workers: (field) => isListOf(field, WORKER, 1),
  },
  round: { round: isCount, orders: (field) => isListOf(field, ORDER, 0) },
  warm: { round: isCount, worker: isCount },
  go: { round: isCount },
  result: {
    round: isCount,
    worker: isCount,
    window: (field) => isRecord(field, WINDOW),
    result: isResult,
  },
  stop: { message: isText },
  failed: { code: isCode, message: isText, isCause: isFlag },
  end: { ok: isFlag },
};

export function encodeMeshMessage(message: MeshMessage): string {
  return JSON.stringify(message);
}

export function decodeMeshMessage(text: string): MeshMessage {
  let value: unknown;
  try {
    value = JSON.parse(text); // checked: below, field by field
  } catch (error) {
    throw new TcpxError('ERR_WIRE_FRAME', 'mesh message is not JSON', { cause: error });
  }
  const { kind, ...rest } = Object(value) as Partial<Record<string, unknown>>;
  if (typeof kind !== 'string' || !Object.hasOwn(FIELDS, kind)) throw malformed('kind');
  const fields = FIELDS[kind as MeshMessage['kind']];
  // Of another version a hello is still one: that is what is then said.
  const isForeign = kind === 'hello' && rest['protocol'] !== MESH_PROTOCOL;
  for (const [name, check] of Object.entries(fields)) {
    const isNeeded = !isForeign || FOREIGN.includes(name);
    if (isNeeded && !check(rest[name])) throw malformed(`${kind}.${name}`);
  }
  return value as MeshMessage;
}

/** What a hello of any version has. */
const FOREIGN = ['protocol', 'version', 'rank', 'hostname'];

function isRecord(field: unknown, checks: Readonly<Record<string, Check>>): boolean {
  if (typeof field !== 'object' || field === null) return false;
  const record = field as Partial<Record<string, unknown>>;
  return Object.entries(checks).every(([name, check]) => check(record[name]));
}

function isListOf(
  field: unknown,
  checks: Readonly<Record<string, Check>>,
  countMin: number,
): boolean {
  if (!Array.isArray(field) || field.length < countMin || field.length > LIST_MAX) return false;
  return field.every((one) => isRecord(one, checks));
}

function isTerms(field: unknown): boolean {
  if (typeof field !== 'object' || field === null) return false;
  const texts = Object.values(field);
  return texts.length <= LIST_MAX && texts.every(isText);
}

/** What figures and reports read of it. */
function isResult(field: unknown): boolean {
  const { schema, bandwidthGBps, latencyUs, bytesMoved, verified, host, peer } = Object(
    field,
  ) as Partial<Record<string, unknown>>;
  if (schema !== 'tcpx.bench/1' || !isTime(bytesMoved)) return false;
  const rates = { mean: isTime, p50: isTime, min: isTime, max: isTime };
  const times = { p50: isTime, p90: isTime, p99: isTime, max: isTime };
  const machine = { hostname: isText };
  return (
    isRecord(bandwidthGBps, rates) &&
    isRecord(latencyUs, times) &&
    isRecord(verified, { iterations: isCount, mismatches: isCount }) &&
    [host, peer].every((facts) => isRecord(facts, machine))
  );
}

function malformed(what: string): TcpxError {
  return new TcpxError('ERR_WIRE_FRAME', `mesh message: ${what} is not as it should be`);
}
