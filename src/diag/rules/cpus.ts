// How the CPUs are run: frequency, idle states, isolation.

import { bindingCpus, parseBindings } from '../../base/core-bindings.js';
import { formatCpuList } from '../../base/cpu-set.js';
import { intersectionOf } from '../../host/irq/cpu-choice.js';
import type { CpuPower } from '../../host/read/model.js';
import { pass, type Rule, skip, type Verdict, warn, worst } from '../rule.js';

/** A wake-up that takes longer is felt by every small message. */
const EXIT_LATENCY_US_MAX = 50;
/** With these drivers the hardware chooses, and `powersave` does not mean slow. */
const HARDWARE_DRIVERS = ['intel_pstate', 'amd-pstate-epp'];

export const governorRule: Rule = {
  id: 'cpu.governor',
  area: 'system',
  title: 'CPUs run at full frequency',
  why: 'A governor that lowers the frequency of idle CPUs slows the first packets of every burst.',
  remedy: 'cpupower frequency-set -g performance',
  proof: 'cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor',
  check: ({ host }) => worst(host.cpus.power.map(governorPart), skip('no CPU could be read')),
};

function governorPart({ cpu, governor, frequencyDriver }: CpuPower): Verdict {
  if (governor === undefined) {
    return skip(`CPU ${cpu}: no governor is readable, as in most virtual machines`);
  }
  if (governor === 'performance') return pass(`CPU ${cpu}: performance`);
  const isHardware = HARDWARE_DRIVERS.includes(frequencyDriver ?? '');
  if (isHardware) return pass(`CPU ${cpu}: ${governor} of ${frequencyDriver ?? ''}`);
  if (governor === 'powersave' && frequencyDriver === undefined) {
    return skip(`CPU ${cpu}: powersave, whose meaning depends on a driver that is not readable`);
  }
  return warn(`CPU ${cpu} runs under the governor ${governor}, not performance`);
}

export const idleRule: Rule = {
  id: 'cpu.idle',
  area: 'system',
  title: 'CPUs wake up fast',
  why: 'A core in a deep idle state takes tens to hundreds of microseconds to take an interrupt.',
  remedy: 'cpupower idle-set -D 50, or boot with intel_idle.max_cstate=1 (costs power).',
  proof: 'cpupower idle-info',
  check: ({ host }) => worst(host.cpus.power.map(idlePart), skip('no CPU could be read')),
};

function idlePart({ cpu, idleStates }: CpuPower): Verdict {
  if (idleStates.length === 0) return skip(`CPU ${cpu}: no idle state is listed`);
  const slow = idleStates.filter(
    ({ isEnabled, exitLatencyUs }) =>
      isEnabled === true && (exitLatencyUs ?? 0) > EXIT_LATENCY_US_MAX,
  );
  if (slow.length > 0) {
    const names = slow.map(({ name, exitLatencyUs }) => `${name} (${exitLatencyUs ?? '?'} µs)`);
    return warn(`CPU ${cpu} may sleep in ${names.join(', ')}`);
  }
  const unknown = idleStates.filter(
    ({ isEnabled, exitLatencyUs }) =>
      isEnabled !== false && (isEnabled === undefined || exitLatencyUs === undefined),
  );
  if (unknown.length > 0) return skip(`CPU ${cpu}: ${unknown[0]?.name ?? ''} is not readable`);
  return pass(`CPU ${cpu}: no enabled state above ${EXIT_LATENCY_US_MAX} µs`);
}

export const isolationRule: Rule = {
  id: 'cpu.isolated',
  area: 'run',
  title: 'Threads are not left alone on isolated CPUs',
  why:
    'The scheduler does not spread threads over CPUs of isolcpus=: a range of them is one CPU in ' +
    'effect, unless every thread is pinned to one of its own.',
  remedy:
    'Take those CPUs out of isolcpus=, or pin each thread ' +
    '(NCCL_GPUDIRECTTCPX_WORKER_PIN_THREADS=1, --lane-bindings).',
  proof: 'cat /sys/devices/system/cpu/isolated',
  check({ host, environment }): Verdict {
    const names = ['TX', 'RX'].map((use) => `NCCL_GPUDIRECTTCPX_${use}_BINDINGS`);
    const bindings = names.flatMap((name) => parseBindings(environment[name] ?? '').bindings);
    if (bindings.length === 0) return skip('no binding variables are set');
    const { isolated } = host.cpus;
    if (isolated === undefined) return skip('the list of isolated CPUs is not readable');
    if (environment['NCCL_GPUDIRECTTCPX_WORKER_PIN_THREADS'] === '1') {
      return pass('each thread is pinned');
    }
    const parts = bindings.map((binding) => {
      const shared = intersectionOf(bindingCpus(binding), isolated);
      if (shared.length < 2) return pass(`${binding.nic}: not on isolated CPUs`);
      return warn(`threads of ${binding.nic} may use isolated CPUs ${formatCpuList(shared)}`);
    });
    return worst(parts, skip('no binding variables are set'));
  },
};
