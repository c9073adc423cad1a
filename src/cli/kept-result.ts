// The whole result of a benchmark of ours that printed only a table of it: it has kept the document
// and said under which name. Of several runs that one whose rate is in the middle; a mesh has no
// rate that would be comparable, and so no document.

import type { BenchResult } from '../bench/bench-result.js';
import type { EnvironmentValues } from '../host/environment/preset.js';

const KEPT = /^kept as ([\w-]+(?:, [\w-]+)*) \(tcpx bench show\)$/gm;
const STORE = '--store';

/**
 * From the log of the command to the document. Whatever starts a benchmark, npx, a script or a
 * launcher, its log has the name.
 */
export async function keptResult(
  words: readonly string[],
  environment: EnvironmentValues,
): Promise<(log: string) => string | undefined> {
  const { ResultStore, storeFolder } = await import('../bench/result-store.js');
  const wanted = storeFlag(words) ?? environment['NIXL_TCPX_BENCH_STORE_DIR'] ?? '';
  const store = new ResultStore(storeFolder(wanted, environment), 1);
  return (log) => {
    const ids = [...log.matchAll(KEPT)].at(-1)?.[1];
    if (ids === undefined) return undefined;
    try {
      const result = middleRun(store.find(ids));
      return result === undefined ? undefined : `${JSON.stringify(result, null, 2)}\n`;
    } catch {
      // Gone in the meantime: the log has what there is.
      return undefined;
    }
  };
}

/** Of an even number the slower of the two; undefined where each is only a part of the run. */
function middleRun(runs: readonly BenchResult[]): BenchResult | undefined {
  if (runs.some(({ group }) => group !== undefined)) return undefined;
  const byRate = [...runs].sort((a, b) => a.bandwidthGBps.p50 - b.bandwidthGBps.p50);
  return byRate[Math.floor((byRate.length - 1) / 2)];
}

function storeFlag(words: readonly string[]): string | undefined {
  const index = words.indexOf(STORE);
  if (index >= 0) return words[index + 1];
  return words.find((word) => word.startsWith(`${STORE}=`))?.slice(STORE.length + 1);
}
