// `tcpx devices`: the NICs of the NCCL net plugin, their properties and how they differ.

import { TcpxError } from '../../base/errors.js';
import { parseInterfaceList, unansweredWords } from '../../base/interface-list.js';
import {
  type DeviceProperties,
  netDeviceName,
  type PropertyValue,
  pointerSupportName,
  propertyDifferences,
} from '../../ffi/nccl-net/properties.js';
import type { Command, Invocation } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { type PluginFacts, probePlugin } from '../plugin-probe.js';
import { formatTable, printJson, printText } from '../print.js';

const IFNAME = 'NCCL_GPUDIRECTTCPX_SOCKET_IFNAME';
const PROBE_TIMEOUT_MS = 30_000;
const LEVEL_WARN = 2;

export const devicesCommand: Command = {
  name: 'devices',
  group: 'plugin',
  summary: 'The plugin’s NICs, their properties and their differences.',
  settings: ['plugin.path', 'session.nics'],
  examples: [
    ['devices', 'Asks the plugin that is installed.'],
    ['devices --plugin /opt/libnccl-net.so --json', 'Asks this one, as JSON.'],
  ],
  async run(invocation) {
    const facts = await askPlugin(invocation);
    const missing = missingNics(invocation.config.values['session.nics'], facts.devices);
    if (missing.length > 0) throw missingError(missing, facts);
    if (invocation.isJson) printJson(devicesDocument(facts));
    else printText(formatDevices(facts));
    return ExitCode.Good;
  },
};

function askPlugin(invocation: Invocation): Promise<PluginFacts> {
  const { values } = invocation.config;
  return probePlugin({
    path: values['plugin.path'],
    name: values['plugin.name'],
    environment: interfaceVariables(invocation),
    timeoutMs: PROBE_TIMEOUT_MS,
    onLine(line) {
      const fields = { where: line.where, text: line.text };
      if (line.level === LEVEL_WARN) invocation.log.warn('plugin', fields);
      else invocation.log.info('plugin', fields);
    },
  });
}

// On our command line a name means that interface; the plugin takes plain words for prefixes.
function interfaceVariables(invocation: Invocation): Record<string, string> {
  const nics = invocation.config.effective.find(({ name }) => name === 'session.nics');
  const list = String(nics?.value ?? '');
  if (list === '' || nics?.origin === `environment ${IFNAME}`) return {};
  return { [IFNAME]: /^[=^]/.test(list) ? list : `=${list}` };
}

/** Names in the interface list that no device answers to; exclusions name none. */
function missingNics(list: string, devices: readonly DeviceProperties[]): string[] {
  const names = devices.map((device) => String(device['name']));
  return unansweredWords(parseInterfaceList(list, false), names);
}

function missingError(missing: readonly string[], facts: PluginFacts): TcpxError {
  const present = facts.devices.map((device) => String(device['name'])).join(', ');
  return new TcpxError(
    'ERR_CAP_NET_DEVICE',
    `interface ${missing.join(', ')}: not among the devices of ${facts.path} (${present})`,
    { facts: { missing: missing.join(' '), present } },
  );
}

function devicesDocument(facts: PluginFacts) {
  return {
    schema: 'tcpx.devices/1',
    evidence: evidenceOf(facts),
    plugin: { path: facts.path, name: facts.name, tableVersion: facts.tableVersion },
    log: facts.logSilence === '' ? 'captured' : 'silent',
    logSilence: facts.logSilence,
    devices: facts.devices.map((device, index) => ({ index, ...device })),
    differences: propertyDifferences(facts.devices),
  };
}

function evidenceOf(facts: PluginFacts): 'emulated' | 'measured' {
  return facts.isEmulated ? 'emulated' : 'measured';
}

function formatDevices(facts: PluginFacts): string {
  const properties = Object.keys(facts.devices[0] ?? {});
  const rows = properties.map((property) => [
    property,
    ...facts.devices.map((device) => formatValue(property, device[property] ?? null)),
  ]);
  const heading = ['device', ...facts.devices.map((_, index) => String(index))];
  const lines = [
    `${facts.name}, table v${facts.tableVersion}, ${facts.path} (${evidenceOf(facts)})`,
    formatTable([heading, ...rows]),
    differencesText(facts),
  ];
  if (facts.logSilence !== '') {
    lines.push(`The plugin’s words are not captured: ${facts.logSilence}.`);
  }
  return lines.join('\n');
}

function differencesText(facts: PluginFacts): string {
  if (facts.devices.length < 2) return 'One NIC: nothing to compare.';
  const differences = propertyDifferences(facts.devices);
  if (differences.length === 0) return 'The NICs do not differ.';
  const rows = differences.map(({ property, values }) => [
    property,
    ...values.map((value) => formatValue(property, value)),
  ]);
  return `The NICs differ in:\n${formatTable(rows)}`;
}

function formatValue(property: string, value: PropertyValue): string {
  if (value === null) return '(none)';
  if (property === 'ptrSupport') return pointerSupportName(Number(value));
  if (property === 'netDeviceType') return netDeviceName(Number(value));
  return String(value);
}
