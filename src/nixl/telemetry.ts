// Agent telemetry: NIXL's events as counters, under NIXL's names. `tx` is WRITE and `rx` is READ as
// the initiator sees them; a target counts nothing for what is pushed into it.

import { TcpxError } from '../base/errors.js';
import { XferOp } from './memory-type.js';
import { NixlStatus, type NixlStatusName } from './status.js';

/** Times and sizes of one request. */
export interface XferTelemetry {
  /** Monotonic, the agent's clock. */
  readonly startTimeUs: number;
  /** How long posting took, in µs. */
  readonly postDurationUs: number;
  /** From the start of the post until completion was seen, so polling late shows. */
  readonly xferDurationUs: number;
  /** Bytes that it moves. */
  readonly totalBytes: number;
  /** Ranges that it moves. */
  readonly descCount: number;
}

/** Counters of an agent by name. */
export type TelemetrySnapshot = Readonly<Record<string, number>>;

const ERROR_EVENTS = new Map<number, string>(
  Object.entries(NixlStatus)
    .filter(([, status]) => status < 0)
    .map(([name, status]) => [status, eventName(name as NixlStatusName)]),
);

export class AgentTelemetry {
  readonly isEnabled: boolean;
  readonly #counters: Record<string, number> = {
    agent_tx_bytes: 0,
    agent_rx_bytes: 0,
    agent_tx_requests_num: 0,
    agent_rx_requests_num: 0,
    agent_memory_registered: 0,
    agent_memory_deregistered: 0,
    agent_xfer_time: 0,
    agent_xfer_post_time: 0,
    agent_tx_last_bytes: 0,
    agent_rx_last_bytes: 0,
    // Counted in place, not staged for another thread: none is ever lost.
    agent_telemetry_events_dropped: 0,
  };

  constructor(isEnabled: boolean) {
    this.isEnabled = isEnabled;
    for (const event of ERROR_EVENTS.values()) this.#counters[event] = 0;
  }

  assertEnabled(attempted: string): void {
    if (this.isEnabled) return;
    throw new TcpxError('ERR_USAGE_NO_TELEMETRY', `${attempted}: telemetry is off`);
  }

  onRegistered(bytes: number): void {
    this.#add('agent_memory_registered', bytes);
  }

  onDeregistered(bytes: number): void {
    this.#add('agent_memory_deregistered', bytes);
  }

  onPosted(postDurationUs: number): void {
    this.#add('agent_xfer_post_time', postDurationUs);
  }

  onCompleted(op: XferOp, bytes: number, xferDurationUs: number): void {
    const way = op === XferOp.WRITE ? 'tx' : 'rx';
    this.#add(`agent_${way}_bytes`, bytes);
    this.#add(`agent_${way}_requests_num`, 1);
    this.#add('agent_xfer_time', xferDurationUs);
    if (this.isEnabled) this.#counters[`agent_${way}_last_bytes`] = bytes;
  }

  onError(status: number): void {
    this.#add(ERROR_EVENTS.get(status) ?? 'agent_err_unknown', 1);
  }

  snapshot(): TelemetrySnapshot {
    return { ...this.#counters };
  }

  #add(name: string, value: number): void {
    if (!this.isEnabled) return;
    this.#counters[name] = (this.#counters[name] ?? 0) + value;
  }
}

/** The setting decides; `auto` leaves it to the program. */
export function isTelemetryOn(setting: string, isAsked: boolean): boolean {
  if (setting === 'auto') return isAsked;
  return ['on', 'true', '1', 'yes', 'y'].includes(setting);
}

/** `ERR_NOT_FOUND` → `agent_err_not_found`. */
function eventName(name: NixlStatusName): string {
  return `agent_${name.toLowerCase()}`;
}
