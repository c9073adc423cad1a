// The providers' suite on the simulator's virtual connections.

import { providerContract } from './provider.js';
import { simulatedHarness } from './provider-simulated.js';

providerContract(simulatedHarness());
