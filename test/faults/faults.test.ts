// Each real fault once, with a smaller transfer than `npm run faults` takes.

import { test } from 'node:test';
import { netLabObstacle } from '../../src/testing/net-lab.js';
import { runScenario } from './scenario.js';
import { SCENARIOS } from './scenarios.js';

/** Long enough for a fault to come in mid-transfer on four links of 1 Gbit/s. */
const BYTES = 768 * 1024 * 1024;

const obstacle = netLabObstacle();

for (const scenario of SCENARIOS) {
  test(`fault: ${scenario.name}: ${scenario.promise}`, { timeout: 60_000 }, async (t) => {
    if (obstacle !== undefined) {
      t.skip(obstacle);
      return;
    }
    await runScenario(scenario, BYTES);
  });
}
