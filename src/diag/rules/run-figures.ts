// Figures that mislead: units, ends that disagree, baselines that are none.

import { rateUnit } from '../parse/perf-log.js';
import { pass, skip, type Verdict, warn } from '../rule.js';
import type { RunRule } from '../run-facts.js';
import { headline } from '../view/summary-text.js';

export const unitRule: RunRule = {
  id: 'figures.unit',
  area: 'run',
  title: 'A GB is 10^9 bytes',
  why: 'A program that divides by 2^30 and prints GB/s shows 7 % less than one that does not.',
  remedy: 'Compare in one unit: multiply what was printed by 1.074.',
  proof: 'tcpx diag analyze BUNDLE --json',
  experiment: 'Bytes of an iteration divided by its time.',
  confidence: 0.95,
  gainPercent: 7.4,
  check({ run }): Verdict {
    const { averages, totalBytes } = run.perf;
    if (averages.length === 0 || totalBytes === undefined) return skip('no such figure in the log');
    const wrong = averages.filter(({ ms, rate }) => rateUnit(totalBytes, ms, rate) === 'GiB/s');
    const [first] = wrong;
    if (first === undefined) return pass('units agree with bytes and time');
    const right = (first.rate * 1024 ** 3) / 1e9;
    return warn(`${first.rate} GB/s as printed are GiB/s: ${right.toFixed(2)} GB/s`);
  },
};

const UNLIKE = 1.25;

export const asymmetryRule: RunRule = {
  id: 'figures.ends',
  area: 'run',
  title: 'Both ends measure the same time',
  why:
    'Both moved the same bytes: where their figures differ, clocks start at other moments, the ' +
    'first iteration holds the other’s set-up, or completion means another thing.',
  remedy: 'Start together, let the receiver confirm the end, and compare that one figure.',
  proof: 'tcpx bench client PEER',
  experiment: 'The run by tcpx bench, whose target confirms.',
  confidence: 0.85,
  gainPercent: 5,
  check({ run, other }): Verdict {
    const here = run.perf.averages.at(-1)?.rate;
    const there =
      other === undefined ? run.perf.averages[0]?.rate : other.perf.averages.at(-1)?.rate;
    if (here === undefined || there === undefined) return skip('no figure of both ends');
    const ratio = Math.max(here, there) / Math.min(here, there);
    const text = `${here} at one end, ${there} at the other`;
    return ratio > UNLIKE ? warn(text) : pass(text);
  },
};

const BASELINE = /(^|[_.-])(t1|t3|baseline|default)($|[_.-])/i;

export const baselineRule: RunRule = {
  id: 'figures.baseline',
  area: 'run',
  title: 'A baseline runs without binding variables',
  why: 'With them it is the second case called the first: their effect is then in both.',
  remedy: 'env -u NCCL_GPUDIRECTTCPX_TX_BINDINGS -u NCCL_GPUDIRECTTCPX_RX_BINDINGS COMMAND',
  proof: 'grep BINDINGS BUNDLE/environment.txt',
  experiment: 'The run with the variables unset.',
  confidence: 0.9,
  gainPercent: 6,
  check({ run, environment, isEnvironmentKnown }): Verdict {
    const label = run.begin.label ?? run.path.slice(run.path.lastIndexOf('/') + 1);
    if (!BASELINE.test(label)) return skip('not called a baseline');
    if (isEnvironmentKnown === false) return skip('the variables of the run are not known');
    const set = Object.keys(environment).filter((name) => /_(TX|RX)_BINDINGS$/.test(name));
    return set.length === 0 ? pass('none is set') : warn(`${label} ran with ${set.join(', ')}`);
  },
};

export const outcomeRule: RunRule = {
  id: 'run.outcome',
  area: 'run',
  title: 'The command ended well',
  why: 'A figure of a run that failed is a figure of something else.',
  remedy: 'Read the end of nccl_test_output.log and the first line of trouble before it.',
  proof: 'tail BUNDLE/nccl_test_output.log',
  experiment: 'The run again, alone.',
  confidence: 0.5,
  gainPercent: 15,
  check({ run }): Verdict {
    const { status, failure, signal } = run.end;
    if (status === undefined) return skip('the bundle does not say how it ended');
    if (status === 0) return pass(headline(run));
    const how = failure ?? (signal === undefined ? `exit status ${status}` : `ended by ${signal}`);
    return warn(how, ...(run.lastLine === '' ? [] : [`its last line: ${run.lastLine}`]));
  },
};
