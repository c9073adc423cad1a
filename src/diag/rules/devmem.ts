// What device memory over TCP needs below the plugin: NIC capability, the receive manager, the
// plugin itself. The manager is only looked for: never started, never configured.

import type { Nic } from '../../host/read/model.js';
import type { DoctorFacts } from '../facts.js';
import { fail, pass, type Rule, skip, type Verdict, warn, worst } from '../rule.js';
import { noDataNic } from './nics.js';

const BIND_RX = 13;
const BIND_TX = 15;
const PLUGIN_TABLE = 7;
const RULE_SOCKET = 'rx_rule_manager';
const NOT_ASKED = 'only asked with --provider tcpx';
/** What the emulator needs none of. */
export const EMULATED = 'the plugin emulator stands in for it';
/** What two ends on one host, or a link whose speed is nobody's, have no use for. */
export const EMULATED_NETWORK = 'the plugin emulator stands in for the network';
const NOT_CAPTURED = 'a capture does not hold this; ask on the host itself';

export const capabilityRule: Rule = {
  id: 'devmem.capability',
  area: 'system',
  title: 'Data NICs can receive into device memory',
  why:
    'Without header split and flow steering, payload lands in host memory and the plugin reports ' +
    '"rx no cmsg"; nothing falls back by itself.',
  remedy:
    'On the TCPX kernel the receive manager sets enable-strict-header-split; upstream: ethtool ' +
    '-G NIC tcp-data-split on, ethtool -K NIC ntuple on.',
  proof: 'ethtool --show-priv-flags NIC; ethtool -g NIC',
  check(facts): Verdict {
    if (facts.provider !== 'tcpx') return skip(NOT_ASKED);
    if (facts.plugin.isEmulator === true) return skip(EMULATED);
    return worst(
      facts.dataNics.map((nic) => capability(nic, facts)),
      noDataNic(facts),
    );
  },
};

function capability({ name, ethtool }: Nic, facts: DoctorFacts): Verdict {
  if (ethtool === undefined) return skip(`${name}: the driver’s answers (ethtool) are not there`);
  const strict = ethtool.privateFlags['enable-strict-header-split'];
  if (strict === true) return pass(`${name}: TCPX kernel, strict header split on`);
  if (strict === false) return fail(`${name}: TCPX kernel, but strict header split is off`);
  const operations = facts.netdevOperations;
  if (operations === undefined) {
    return skip(`${name}: no TCPX flags, and the kernel’s netdev family did not answer`);
  }
  if (!operations.includes(BIND_RX)) {
    return fail(`${name} can plain TCP only: neither TCPX flags nor the kernel’s bind-rx`);
  }
  const split = ethtool.rings?.tcpDataSplit;
  const isSteered = ethtool.features['rx-ntuple-filter']?.isActive;
  if (split === 'off') return fail(`${name}: header split is off`);
  if (isSteered === false) return fail(`${name}: flow rules (ntuple) are off`);
  const send = operations.includes(BIND_TX) ? 'send and receive' : 'receive only';
  if (split === 'on' && isSteered === true) return pass(`${name}: upstream device memory, ${send}`);
  return skip(`${name}: header split ${split ?? 'unknown'}, flow rules ${isSteered ?? 'unknown'}`);
}

export const rxdmRule: Rule = {
  id: 'devmem.rxdm',
  area: 'system',
  title: 'The receive manager (RxDM, dp-manager) runs and answers where the plugin looks',
  why:
    'It binds GPU memory to NIC queues and installs flow rules. Without it every accept fails; ' +
    'with a wrong socket folder the plugin does not find it.',
  remedy:
    'Start it as its vendor documents, share its socket folder with the container, and set ' +
    'NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX to that folder.',
  proof: 'ls "$NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX"',
  check({ provider, rxdm, plugin, isCapture }): Verdict {
    if (provider !== 'tcpx') return skip(NOT_ASKED);
    if (plugin.isEmulator === true) return skip(EMULATED);
    if (isCapture) return skip(NOT_CAPTURED);
    const named = rxdm.processes.map(({ pid, name }) => `process ${pid} ${name}`);
    const seen = named.length === 0 ? ['no such process is visible here'] : named;
    if (rxdm.sockets === undefined) return skip(`${rxdm.prefix} is not in this tree`);
    if (!rxdm.sockets.includes(RULE_SOCKET)) {
      return fail(`no socket ${RULE_SOCKET} in ${rxdm.prefix}`, ...seen);
    }
    const troubles = rxdm.journal ?? [];
    if (troubles.length > 0) return warn(...seen, ...troubles.slice(-3));
    const journal =
      rxdm.journal === undefined ? 'its journal is not readable here' : 'journal quiet';
    return pass(`${rxdm.prefix}/${RULE_SOCKET} is there`, ...seen, journal);
  },
};

export const pluginRule: Rule = {
  id: 'devmem.plugin',
  area: 'system',
  title: 'The NCCL net plugin is there and has the table that is used',
  why: 'The provider calls the plugin’s version 7 table; a missing file or table ends the run.',
  remedy:
    'Install the plugin, name it with UCCL_TCPX_PLUGIN_PATH, and copy it to a file system that ' +
    'allows execution (/var/lib/tcpx is often mounted noexec).',
  proof: 'tcpx devices',
  check({ provider, plugin, isCapture }): Verdict {
    if (provider !== 'tcpx') return skip(NOT_ASKED);
    if (isCapture) return skip(NOT_CAPTURED);
    if (plugin.path === undefined) {
      const where = plugin.candidates.join(', ');
      return plugin.wasLookedFor ? fail(`not found: ${where}`) : skip(`not in this tree: ${where}`);
    }
    if (plugin.isNoexec === true) return fail(`${plugin.path} lies on a noexec mount`);
    const tables = `tables v${plugin.versions.join(', v')}`;
    if (!plugin.versions.includes(PLUGIN_TABLE)) {
      return fail(`${plugin.path}: no ncclNetPlugin_v${PLUGIN_TABLE} (${tables})`);
    }
    const text = `${plugin.path}, ${tables}${plugin.isEmulator === true ? ', emulated' : ''}`;
    if (plugin.isNoexec === undefined) return skip(`${text}; its mount’s options are not readable`);
    return pass(text);
  },
};

export const devmemCounterRule: Rule = {
  id: 'devmem.counter',
  area: 'run',
  title: 'Device-memory packets were counted since boot',
  why: 'The only proof that payload reached GPU memory directly is that this counter grows.',
  remedy: 'Run a transfer between two hosts and read the counter before and after.',
  proof: 'tcpx watch',
  check({ provider, dataNics, plugin }): Verdict {
    if (provider !== 'tcpx') return skip(NOT_ASKED);
    if (plugin.isEmulator === true) return skip(EMULATED);
    const counts = dataNics.map(
      (nic) => [nic.name, nic.ethtool?.statistics['rx_devmem_pkts']] as const,
    );
    const lines = counts.map(([nic, count]) => `${nic}: ${count ?? 'rx_devmem_pkts unknown'}`);
    if (counts.some(([, count]) => (count ?? 0) > 0)) {
      const still = dataNics.filter((nic) => isStill(nic) === true).map(({ name }) => name);
      if (still.length > 0) {
        const what = `${still.join(', ')}: data came and none was counted, on others it was`;
        return warn(what, ...lines);
      }
      const isOpen = dataNics.some((nic) => isStill(nic) === undefined);
      return isOpen ? skip('not known of every NIC', ...lines) : pass(...lines);
    }
    const isKnown = counts.length > 0 && counts.every(([, count]) => count !== undefined);
    return isKnown ? warn('no data NIC counted any', ...lines) : skip('not known', ...lines);
  },
};

/** Less than this since boot is name service and the like. */
const STILL_BYTES_MIN = 1024 ** 3;

/** Data came over it and never into device memory; undefined where that cannot be known. */
function isStill({ ethtool, statistics }: Nic): boolean | undefined {
  const packets = ethtool?.statistics['rx_devmem_pkts'];
  if (packets === undefined) return undefined;
  if (packets > 0) return false;
  const bytes = ethtool?.statistics['rx_bytes'] ?? statistics['rx_bytes'];
  return bytes === undefined ? undefined : bytes > STILL_BYTES_MIN;
}
