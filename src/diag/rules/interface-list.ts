// The list of interfaces that the plugin reads: missing, or naming what is not there. One judgement
// for a host before a run and for a run that was.

import { isListed, parseInterfaceList, unansweredWords } from '../../base/interface-list.js';
import type { DoctorFacts } from '../facts.js';
import { fail, pass, type Rule, skip, type Verdict, warn } from '../rule.js';

export const LIST_VARIABLE = 'NCCL_GPUDIRECTTCPX_SOCKET_IFNAME';
export const LIST_REMEDY =
  `Set ${LIST_VARIABLE} to the data NICs, ` + 'for example eth1,eth2,eth3,eth4.';
const EMULATED_NICS = 'TCPX_EMU_NICS';

/** `names`: interfaces that there are. */
export function judgeList(text: string, names: readonly string[]): Verdict {
  const list = parseInterfaceList(text, false);
  const missing = unansweredWords(list, names);
  if (missing.length === 0) return pass(`${LIST_VARIABLE}=${text}`);
  const line = `${LIST_VARIABLE}=${text}: there is no ${missing.join(', ')}`;
  return names.some((name) => isListed(list, name)) ? warn(line) : fail(line);
}

export const interfaceListRule: Rule = {
  id: 'run.list',
  area: 'run',
  readsEnvironment: true,
  title: 'The plugin’s list of interfaces names NICs of this host',
  why:
    'Without a list the plugin takes every NIC that it finds, the control NIC too; with a wrong ' +
    'one it finds fewer, or none, and says "no device".',
  remedy: LIST_REMEDY,
  proof: 'tcpx devices',
  check(facts): Verdict {
    if (facts.provider !== 'tcpx') return skip('only asked with --provider tcpx');
    const text = facts.environment[LIST_VARIABLE] ?? '';
    const names = interfaceNames(facts);
    if (names.length === 0) return skip('no interface could be read');
    return text === '' ? missingList(facts, names) : judgeList(text, names);
  },
};

/** Whoever runs NCCL must set it; our own provider names NICs to the plugin by itself. */
function missingList({ dataNics }: DoctorFacts, names: readonly string[]): Verdict {
  const [first] = names;
  if (names.length === 1 && first !== undefined) return pass(`not set; there is only ${first}`);
  const own = dataNics.map(({ name }) => name).join(', ');
  return warn(`${LIST_VARIABLE} is not set${own === '' ? '' : `; data NICs are ${own}`}`);
}

/** Over the emulator those that it was told; interfaces of the host say nothing there. */
function interfaceNames({ host, plugin, environment }: DoctorFacts): readonly string[] {
  if (plugin.isEmulator !== true) return host.nics.map(({ name }) => name);
  const parts = (environment[EMULATED_NICS] ?? '').split(';');
  return parts.map((part) => part.split(',')[0]?.trim() ?? '').filter((name) => name !== '');
}
