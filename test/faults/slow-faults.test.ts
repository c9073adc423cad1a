// Faults whose promise takes seconds; they mostly wait, and bear neighbours.

import { testFaults } from './fault-tests.js';
import { SCENARIOS } from './scenarios.js';

testFaults(SCENARIOS.filter(({ isTight }) => isTight !== true));
