// What many runs of one file each come to: failures, skips, and one closing summary for all.

import type { Skip } from './skips.js';
import type { TestEvent } from './test-event.js';

const COUNTS = ['tests', 'suites', 'pass', 'fail', 'cancelled', 'skipped', 'todo'];
const CLOSING_LINE = new RegExp(`^(${[...COUNTS, 'duration_ms'].join('|')}) ([\\d.]+)$`);

export class Summary {
  readonly skips: Skip[] = [];
  hasFailure = false;
  readonly #counts = new Map(COUNTS.map((name) => [name, 0]));

  /** Notes an event; true for a line of a single file's closing summary, which is not shown. */
  take(event: TestEvent): boolean {
    const { type, data } = event;
    if (type === 'test:fail' && !isMarked(data.todo)) this.hasFailure = true;
    if (type === 'test:pass' && isMarked(data.skip)) {
      const reason = typeof data.skip === 'string' ? data.skip : '';
      this.skips.push({ path: data.file ?? '', name: data.name ?? '', reason });
    }
    if (type === 'test:summary') return true;
    if (type !== 'test:diagnostic' || data.nesting !== 0) return false;
    const [, name, count] = CLOSING_LINE.exec(data.message ?? '') ?? [];
    if (name === undefined) return false;
    const sum = this.#counts.get(name);
    if (sum !== undefined) this.#counts.set(name, sum + Number(count));
    return true;
  }

  closingEvents(durationMs: number): TestEvent[] {
    const lines = [...this.#counts].map(([name, count]) => `${name} ${count}`);
    return [...lines, `duration_ms ${durationMs.toFixed(3)}`].map((message) => ({
      type: 'test:diagnostic',
      data: { nesting: 0, message },
    }));
  }
}

// An empty reason is still a mark.
function isMarked(mark: string | boolean | undefined): boolean {
  return mark !== undefined && mark !== false;
}
