// What a benchmark on one host measures: TCP, as between two hosts, unless somebody says otherwise.
// Outside benchmarks peers of one host share memory.

import { type Config, withAuto } from '../base/config.js';

/** Pure; a value that was set by hand stays. */
export function measuredPath(config: Config): Config {
  return withAuto(config, 'session.local', 'tcp', 'benchmarks measure TCP');
}
