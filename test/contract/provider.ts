// The contract of providers: one suite, whatever carries the bytes. A row that a capability
// excludes asserts the typed error in its place; none is skipped. The names of the tests are the
// table: `contract: PROVIDER: ROW`.

import { after, describe, test } from 'node:test';
import { endingRows } from './provider-endings.js';
import { faultRows } from './provider-faults.js';
import { moveRows } from './provider-moves.js';
import { notificationRows } from './provider-notifications.js';
import { refusalRows } from './provider-refusals.js';
import { stateRows } from './provider-states.js';
import type { ProviderHarness, ProviderPair, Row, Shape } from './provider-world.js';

export function providerContract(harness: ProviderHarness): void {
  describe(`contract: ${harness.name}`, () => {
    // Rows share their pairs: what one leaves behind is seen by the next.
    const opened = new Map<Shape, Promise<ProviderPair>>();
    const open = (shape: Shape): Promise<ProviderPair> => {
      const known = opened.get(shape) ?? harness.open(shape);
      opened.set(shape, known);
      return known;
    };
    after(async () => {
      const pairs = await Promise.allSettled(opened.values());
      for (const pair of pairs) if (pair.status === 'fulfilled') await pair.value.close();
      await harness.close();
    });
    const row: Row = (name, body) => {
      test(`contract: ${harness.name}: ${name}`, () => body(harness, open));
    };
    moveRows(row);
    notificationRows(row);
    endingRows(row);
    refusalRows(row);
    stateRows(row);
    faultRows(row);
  });
}
