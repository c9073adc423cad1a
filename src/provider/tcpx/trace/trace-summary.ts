// What a call trace says about a run: counts, failures, windows, times, and whether every chunk
// went through its steps in order. Pure.

import type { TraceLine } from './trace-file.js';

export interface TraceSummary {
  readonly lines: number;
  readonly durationUs: number;
  readonly calls: Readonly<Record<string, number>>;
  /** Lines whose result is an error. */
  readonly failures: readonly string[];
  readonly channels: readonly ChannelSummary[];
  /** Steps out of order, chunks posted and not finished: each as one sentence. */
  readonly faults: readonly string[];
}

export interface ChannelSummary {
  readonly channel: string;
  readonly role: 'send' | 'receive';
  readonly chunks: number;
  readonly bytes: number;
  /** Most requests that were posted and not finished. */
  readonly highWater: number;
  /** Post to finished. */
  readonly chunkUsP50: number;
  readonly chunkUsMax: number;
}

const RECEIVE_STEPS = ['irecv', 'test', 'irecvConsumed'];
const SEND_STEPS = ['isend', 'test'];

export function summarizeTrace(lines: readonly TraceLine[]): TraceSummary {
  const calls: Record<string, number> = {};
  for (const { call } of lines) calls[call] = (calls[call] ?? 0) + 1;
  const failures = lines
    .filter(({ fields }) => Number(fields['result'] ?? 0) < 0)
    .map(({ index, call, fields }) => `line ${index}: ${call} ${JSON.stringify(fields)}`);
  const walks = [...channelsOf(lines)].flatMap((channel) => [
    walk(lines, channel, 'send', SEND_STEPS),
    walk(lines, channel, 'receive', RECEIVE_STEPS),
  ]);
  return {
    lines: lines.length,
    durationUs: (lines.at(-1)?.timeUs ?? 0) - (lines[0]?.timeUs ?? 0),
    calls,
    failures,
    channels: walks.map(({ summary }) => summary).filter(({ chunks }) => chunks > 0),
    faults: walks.flatMap(({ faults }) => faults),
  };
}

function channelsOf(lines: readonly TraceLine[]): Set<string> {
  const channels = lines.map(({ fields }) => fields['channel']);
  return new Set(channels.filter((channel): channel is string => channel !== undefined));
}

// Follows the chunks of one direction of a channel through their steps.
function walk(
  lines: readonly TraceLine[],
  channel: string,
  role: 'send' | 'receive',
  steps: readonly string[],
) {
  const open: { tag: string; step: number; sinceUs: number }[] = [];
  const times: number[] = [];
  const faults: string[] = [];
  const totals = { chunks: 0, bytes: 0, highWater: 0 };
  for (const { index, call, fields, timeUs } of lines) {
    if (fields['channel'] !== channel || (fields['role'] ?? role) !== role) continue;
    const tag = fields['tag'] ?? '';
    if (call === steps[0]) {
      open.push({ tag, step: 1, sinceUs: timeUs });
      totals.chunks++;
      totals.bytes += Number(fields['bytes'] ?? 0);
      totals.highWater = Math.max(totals.highWater, open.length);
      continue;
    }
    const step = steps.indexOf(call);
    if (step < 0) continue;
    // The oldest chunk that has not had this step is the only one that may have it now.
    const due = open.find((chunk) => chunk.step === step);
    if (due?.tag !== tag) {
      faults.push(`line ${index}: ${call} of tag ${tag} out of order`);
      continue;
    }
    due.step++;
    if (due.step < steps.length) continue;
    open.splice(open.indexOf(due), 1);
    times.push(timeUs - due.sinceUs);
  }
  for (const { tag, step } of open) {
    faults.push(`channel ${channel}, ${role}: tag ${tag} stopped after ${steps[step - 1] ?? ''}`);
  }
  times.sort((one, other) => one - other);
  const chunkUsP50 = times[Math.floor(times.length / 2)] ?? 0;
  const summary = { channel, role, ...totals, chunkUsP50, chunkUsMax: times.at(-1) ?? 0 };
  return { summary, faults };
}
