// Each real fault once, with a smaller transfer than `npm run faults` takes.

import { after, test } from 'node:test';
import { type NetLab, netLabObstacle } from '../support/net-lab.js';
import { LateError, openFaultLab, runScenario, type Scenario } from './scenario.js';

/** A fifth of what `npm run faults` gives a link: the same moments with fewer bytes to move. */
const LINK_MBIT = 200;
/** Long enough for a fault to come in mid-transfer on four such links. */
const BYTES = 76 * 1024 * 1024;
const LONG_BYTES = 2 * BYTES;
/** `npm run faults` asks for nine tenths: here the machine may lose speed between two moments. */
const FULL_SHARE = 0.5;
/** And may be late by itself; a promise that does not hold is broken in each attempt. */
const ATTEMPTS_MAX = 3;

export function testFaults(scenarios: readonly Scenario[]): void {
  const obstacle = netLabObstacle();
  let lab: NetLab | undefined;
  after(() => lab?.close());
  for (const scenario of scenarios) {
    test(`fault: ${scenario.name}: ${scenario.promise}`, { timeout: 120_000 }, async (t) => {
      if (obstacle !== undefined) {
        t.skip(obstacle);
        return;
      }
      lab ??= openFaultLab(LINK_MBIT);
      const bytes = scenario.isLong === true ? LONG_BYTES : BYTES;
      for (let attempt = 1; ; attempt++) {
        try {
          await runScenario(lab, scenario, bytes, FULL_SHARE);
          return;
        } catch (error) {
          if (!(error instanceof LateError) || attempt === ATTEMPTS_MAX) throw error;
          t.diagnostic(`attempt ${attempt}: ${error.message}`);
        }
      }
    });
  }
}
