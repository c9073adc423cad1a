// Each real fault once, with a smaller transfer than `npm run faults` takes.

import { after, test } from 'node:test';
import { type NetLab, netLabObstacle } from '../support/net-lab.js';
import { openFaultLab, runScenario, type Scenario } from './scenario.js';

/** Long enough for a fault to come in mid-transfer on four links of 1 Gbit/s. */
const BYTES = 384 * 1024 * 1024;
const LONG_BYTES = 2 * BYTES;
/** `npm run faults` asks for nine tenths: here the machine may lose speed between two moments. */
const FULL_SHARE = 0.5;

export function testFaults(scenarios: readonly Scenario[]): void {
  const obstacle = netLabObstacle();
  let lab: NetLab | undefined;
  after(() => lab?.close());
  for (const scenario of scenarios) {
    test(`fault: ${scenario.name}: ${scenario.promise}`, { timeout: 60_000 }, async (t) => {
      if (obstacle !== undefined) {
        t.skip(obstacle);
        return;
      }
      lab ??= openFaultLab();
      const bytes = scenario.isLong === true ? LONG_BYTES : BYTES;
      await runScenario(lab, scenario, bytes, FULL_SHARE);
    });
  }
}
