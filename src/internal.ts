// The second door: names for our own tools and tests, without a promise to stay.

import './base/checked-installation.js';

export { loadConfig } from './base/config.js';
export { createLog } from './base/log.js';
export { SETTINGS } from './base/settings.js';
export { runLoopback } from './bench/loopback.js';
export { Engine } from './engine/internal.js';
