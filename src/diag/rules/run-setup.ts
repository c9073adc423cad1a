// How the run is set up: variables, bindings, sockets per NIC, peers.

import { bindingCpus, parseBindings } from '../../base/core-bindings.js';
import { formatCpuList } from '../../base/cpu-set.js';
import { isRelevant } from '../../host/environment/difference.js';
import { VARIABLES, valueProblem } from '../../host/environment/variables.js';
import { coreMapOf } from '../../host/irq/core-map.js';
import { intersectionOf } from '../../host/irq/cpu-choice.js';
import type { DoctorFacts, SocketFacts } from '../facts.js';
import { fail, pass, type Rule, skip, type Verdict, warn, worst } from '../rule.js';

const X = 'NCCL_GPUDIRECTTCPX_';

export const variablesRule: Rule = {
  id: 'run.variables',
  area: 'run',
  title: 'Variables have values that the plugin takes',
  why:
    'The plugin keeps its default when a value is out of range, ignores variables that it only ' +
    'parses, and crashes on some combinations.',
  remedy: 'eval "$(tcpx env --policy POLICY)", or correct the variable named.',
  proof: 'tcpx env diff self REFERENCE',
  check(facts): Verdict {
    const { environment, provider } = facts;
    const names = Object.keys(environment).filter(isRelevant);
    const parts: Verdict[] = names.map((name) => valuePart(name, environment[name] ?? ''));
    if (provider === 'tcpx') parts.push(...missingParts(environment));
    const none =
      names.length === 0
        ? skip('no NCCL or TCPX variable is set')
        : pass(`${names.length} variables`);
    return worst(parts, none);
  },
};

function valuePart(name: string, value: string): Verdict {
  const problem = valueProblem(name, value);
  if (problem === undefined) return pass();
  return VARIABLES[name]?.isDead === true
    ? warn(`${name} ${problem}`)
    : fail(`${name}: ${problem}`);
}

function missingParts(environment: DoctorFacts['environment']): Verdict[] {
  const parts: Verdict[] = [];
  if (environment['NCCL_DYNAMIC_CHUNK_SIZE'] === undefined) {
    parts.push(fail('NCCL_DYNAMIC_CHUNK_SIZE is not set: the plugin’s default 0 does not work'));
  }
  const exports = environment[`${X}TELEMETRY_EXPORT_STATS_TO_FILE`] === '1';
  if (exports && environment[`${X}TELEMETRY_EXPORTER_PATH`] === undefined) {
    parts.push(fail('telemetry export without TELEMETRY_EXPORTER_PATH crashes the plugin'));
  }
  return parts;
}

export const bindingsRule: Rule = {
  id: 'run.bindings',
  area: 'run',
  title: 'Binding variables mean what they say',
  why:
    'The plugin reads only ranges: a bare core number is skipped, and an interface left without ' +
    'a range divides by zero when its first thread starts.',
  remedy: 'Write one core as 8-8; take the text from tcpx env.',
  proof: 'tcpx irq show',
  check({ environment, host }): Verdict {
    const nics = host.nics.map(({ name }) => name);
    const hasCpus = host.cpus.possible.length > 0;
    const context = {
      ...(nics.length > 0 ? { nics } : {}),
      ...(hasCpus ? { possibleCount: coreMapOf(host).possibleCount } : {}),
    };
    const parts = ['TX', 'RX'].flatMap((use) => {
      const text = environment[`${X}${use}_BINDINGS`];
      if (text === undefined) return [];
      const { pitfalls } = parseBindings(text, context);
      if (pitfalls.length === 0) return [pass(`${use}: ${text}`)];
      return pitfalls.map((pitfall) => {
        const line = `${use} ${pitfall.nic}: ${pitfall.text}`;
        return pitfall.severity === 'fatal' ? fail(line) : warn(line);
      });
    });
    parts.push(...sharedCores(environment));
    if (parts.length > 0 && nics.length === 0) parts.push(skip('interfaces could not be read'));
    if (parts.length > 0 && !hasCpus) parts.push(skip('CPUs could not be read'));
    return worst(parts, skip('no binding variable is set: threads use the CPUs of the NIC’s node'));
  },
};

/** Send and receive threads of one NIC that are given the same cores. */
function sharedCores(environment: DoctorFacts['environment']): Verdict[] {
  const bindings = (use: string) =>
    parseBindings(environment[`${X}${use}_BINDINGS`] ?? '').bindings;
  const rxByNic = new Map(bindings('RX').map((binding) => [binding.nic, bindingCpus(binding)]));
  return bindings('TX').flatMap((binding) => {
    const shared = intersectionOf(bindingCpus(binding), rxByNic.get(binding.nic) ?? []);
    if (shared.length === 0) return [];
    return [warn(`${binding.nic}: TX and RX both name ${formatCpuList(shared)}`)];
  });
}

export const socketsRule: Rule = {
  id: 'run.sockets',
  area: 'run',
  title: 'Plugin sockets per NIC stay within the budget',
  why:
    'More sockets on one NIC share the same receive queues and complete in order: the measured ' +
    'runs became slower, not faster. The budget counts all processes that have loaded the plugin.',
  remedy:
    'Lower NCCL_NSOCKS_PERTHREAD or the channels per NIC, or spread GPUs over NICs; ' +
    '--socket-budget changes the limit.',
  proof: 'ss -tnp state established',
  check({ sockets, socketBudget, environment }): Verdict {
    const planned = plannedSockets(environment);
    const parts = (sockets ?? []).map((facts) => socketPart(facts, socketBudget));
    if (planned > socketBudget) {
      parts.push(warn(`one process would open ${planned} sockets per NIC; budget ${socketBudget}`));
    }
    return worst(parts, sockets === undefined ? skip('sockets not readable') : pass('none open'));
  },
};

function socketPart(facts: SocketFacts, budget: number): Verdict {
  const { nic, count, holders, otherCount, unknownCount } = facts;
  const who = count === 0 ? '' : `, held by ${holders.join(', ')}`;
  const others = otherCount === 0 ? '' : `; ${otherCount} of programs without the plugin`;
  const text = `${nic}: ${count} of the plugin${who}${others}`;
  if (count > budget) return warn(`${text}; budget ${budget}`);
  if (count + unknownCount <= budget) return pass(text);
  return skip(`${text}; ${unknownCount} of processes that cannot be looked into (run as root)`);
}

function plannedSockets(environment: DoctorFacts['environment']): number {
  const count = (name: string) => Number(environment[name] ?? '1') || 1;
  const perChannel = count('NCCL_NSOCKS_PERTHREAD') * count('NCCL_SOCKET_NTHREADS');
  return perChannel * count('UCCL_TCPX_NUM_CHANNELS');
}

export const peersRule: Rule = {
  id: 'run.peers',
  area: 'run',
  title: 'Peers are on other hosts',
  why: 'Traffic to an own address goes over loopback, which never exercises device memory.',
  remedy: 'Test between two hosts.',
  proof: 'ip route get PEER',
  check({ peers, provider }): Verdict {
    const parts = peers.map(({ name, addresses, isLocal }) => {
      const where = addresses.join(', ') || 'not resolved';
      if (addresses.length === 0) return warn(`${name}: ${where}`);
      if (isLocal === undefined) return skip(`${name}: ${where}; own addresses are not known`);
      if (!isLocal) return pass(`${name}: ${where}`);
      const text = `${name} (${where}) is this host: loopback never exercises devmem`;
      return provider === 'tcpx' ? fail(text) : warn(text);
    });
    return worst(parts, skip('no peer was named (--peer HOST)'));
  },
};
