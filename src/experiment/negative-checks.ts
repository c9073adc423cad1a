// Where bindings gained nothing: the questions to ask then, in this order, each answered from the
// bundles of the bound arms. Pure.

import { formatCpuList } from '../base/cpu-set.js';
import { formatBytes } from '../base/units.js';
import { examine } from '../diag/doctor.js';
import type { RunFacts, RunRule } from '../diag/run-facts.js';
import { RUN_RULES } from '../diag/run-rules.js';
import { differenceOf, unionOf } from '../host/irq/cpu-choice.js';
import type { CpusByNic, ExperimentRecord } from './record.js';
import { boundCpus, interruptPlaces } from './run-checks.js';

export interface Answer {
  readonly question: string;
  readonly verdict: 'yes' | 'no' | 'unknown';
  readonly evidence: string;
}

type Bindings = Pick<ExperimentRecord, 'txBindings' | 'rxBindings' | 'placement'>;

/** Runs beside the one that was bound most. */
export interface OtherRuns {
  /** A run whose interrupts were matched, with the CPUs of its own NICs. */
  readonly matched: { readonly facts: RunFacts; readonly interruptCpus: CpusByNic } | undefined;
  /** Those that did not count: what makes a run worthless is seen in these alone. */
  readonly uncounted: readonly RunFacts[];
}

const REQUESTS_MAX = 16;
/** Threads that ran less than this part of the time carry nothing. */
const BUSY_SHARE = 0.1;
/** A vector may fire once more where it was; vectors that carry no packets are not planned. */
const AWAY_SHARE = 0.05;

/** `facts`: a run with both the variables and the interrupts, where there is one. */
export function negativeChecks(
  facts: RunFacts,
  bindings: Bindings,
  { matched, uncounted }: OtherRuns,
): readonly Answer[] {
  const cpus = boundCpus(bindings.txBindings, bindings.rxBindings);
  const all = [facts, ...uncounted];
  return [
    threadAnswer(facts, cpus),
    interruptAnswer(matched, bindings),
    busyAnswer(facts, cpus),
    depthAnswer(facts),
    chunkAnswer(facts),
    ruleAnswer('Is every flow steered to its queue?', all, 'no-cmsg.steering', 'devmem.still'),
    ruleAnswer('Is all of it on the NIC’s own memory node?', [facts], 'cores.remote'),
  ];
}

function answer(question: string, isGood: boolean | undefined, evidence: string): Answer {
  const verdict = isGood === undefined ? 'unknown' : isGood ? 'yes' : 'no';
  return { question, verdict, evidence };
}

function threadAnswer({ run }: RunFacts, cpus: readonly number[]): Answer {
  const question = 'Did the threads run on their cores?';
  const busy = run.end.threads.filter(
    ({ seconds }) => seconds >= BUSY_SHARE * (run.seconds ?? Number.NaN),
  );
  if (busy.length === 0 || cpus.length === 0) return answer(question, undefined, 'none was seen');
  const seen = [...new Set(busy.flatMap((thread) => Object.keys(thread.cpus).map(Number)))];
  const away = differenceOf(
    seen.sort((a, b) => a - b),
    cpus,
  );
  const text = `${busy.length} busy threads on CPUs ${formatCpuList(seen)}`;
  return answer(question, away.length === 0, `${text}; bound: ${formatCpuList(cpus)}`);
}

function interruptAnswer(matched: OtherRuns['matched'], { placement }: Bindings): Answer {
  const question = 'Did the interrupts come where they were planned?';
  if (placement.kind !== 'irq') return answer(question, undefined, placement.text);
  if (matched === undefined) return answer(question, undefined, 'no arm with them was measured');
  const { facts, interruptCpus } = matched;
  const { planned, away } = interruptPlaces(facts, interruptCpus);
  const { movedIrqs } = facts.run;
  if (planned + away === 0) return answer(question, undefined, 'none was counted');
  const isThere = movedIrqs.length === 0 && away <= AWAY_SHARE * (planned + away);
  const cpus = formatCpuList(unionOf(...Object.values(interruptCpus)));
  const moved = movedIrqs.length === 0 ? '' : `; ${movedIrqs.length} were moved meanwhile`;
  const text = `${planned} on the planned CPUs ${cpus}, ${away} elsewhere${moved}`;
  return answer(question, isThere, text);
}

function busyAnswer({ run }: RunFacts, cpus: readonly number[]): Answer {
  const question = 'Were these cores busy?';
  const busy = cpus.flatMap((cpu) => {
    const percent = run.busyPercent.get(cpu);
    return percent === undefined ? [] : [{ cpu, percent }];
  });
  if (busy.length === 0) return answer(question, undefined, 'CPU use was not sampled');
  const [most] = busy.sort((a, b) => b.percent - a.percent);
  const percent = most?.percent ?? Number.NaN;
  return answer(question, percent >= 50, `CPU ${most?.cpu ?? '?'}: ${percent.toFixed(0)} %`);
}

function depthAnswer({ run, isPlugin }: RunFacts): Answer {
  const question = 'Is enough in flight?';
  const depth = run.bench?.requestDepth;
  if (depth === undefined) return answer(question, undefined, 'the command does not tell');
  const { transfers, chunks } = depth;
  const text = `${transfers} transfers, up to ${chunks} chunks`;
  const limit = isPlugin ? `; a connection of the plugin has ${REQUESTS_MAX} requests` : '';
  return answer(question, (chunks ?? 0) > 1, `${text}${limit}`);
}

function chunkAnswer({ run, environment }: RunFacts): Answer {
  const question = 'Are chunks of a size that the path likes?';
  const bytes =
    run.bench?.chunkBytes ?? Number(environment['NCCL_DYNAMIC_CHUNK_SIZE'] ?? Number.NaN);
  if (Number.isNaN(bytes)) return answer(question, undefined, 'not known');
  const isGood = bytes >= 256 * 1024 && bytes <= 1024 * 1024;
  return answer(question, isGood, `${formatBytes(bytes)}; bench sweep --chunk 256K..1M compares`);
}

/** The worst that these rules say of any of these runs. */
function ruleAnswer(question: string, all: readonly RunFacts[], ...ids: readonly string[]): Answer {
  const rules = ids
    .map((id) => RUN_RULES.find((rule) => rule.id === id))
    .filter((rule): rule is RunRule => rule !== undefined);
  const found = all.flatMap((facts) => rules.map((rule) => examine(rule, facts)));
  const said =
    found.find(({ status }) => status === 'fail' || status === 'warn') ??
    found.find(({ status }) => status === 'pass') ??
    found[0];
  const isGood = said === undefined || said.status === 'skip' ? undefined : said.status === 'pass';
  return answer(question, isGood, said?.evidence.join('; ') ?? '');
}
