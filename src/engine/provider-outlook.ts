// What tcpx needs on this host and whether it is there, found out without loading the plugin: the
// rule of `auto`, for engines that open and for people who ask what one would use.

import { existsSync } from 'node:fs';
import type { Environment } from '../base/config.js';
import { isTcpxError } from '../base/errors.js';
import { DEFAULT_PLUGIN_PATH, EMULATOR_WORD } from '../base/plugin-settings.js';
import type { SettingValues } from '../base/settings.js';
import { gpuObstacle } from '../gpu/gpu-staging.js';
import { readNicGpus } from '../host/topo/nic-gpus.js';
import type { ProviderName } from '../provider/receipt.js';
import { namedNics, planRails } from '../provider/tcpx/rail-plan.js';

/** One thing that tcpx needs; some are known only once the plugin is loaded. */
export interface Need {
  readonly state: 'found' | 'missing' | 'unknown';
  /** What was found, or what is missing and why. */
  readonly text: string;
}

export interface ProviderOutlook {
  readonly setting: SettingValues['engine.provider'];
  /** What an engine here has for a peer on another host that offers the same. */
  readonly provider: ProviderName;
  readonly reason: string;
  readonly plugin: Need;
  readonly gpu: Need;
  readonly nics: Need;
}

/** What keeps `auto` from tcpx on this host; empty where nothing does. Loads no plugin. */
export function obstacleToTcpx(values: SettingValues): string {
  for (const need of [pluginNeed(values), gpuNeed()]) {
    if (need.state === 'missing') return need.text;
  }
  return '';
}

/** `environment` is the plugin's. */
export function outlookOf(values: SettingValues, environment: Environment): ProviderOutlook {
  const setting = values['engine.provider'];
  const needs = {
    plugin: pluginNeed(values),
    gpu: gpuNeed(),
    nics: nicNeed(values, environment),
  };
  return { setting, ...expectation(setting, values, needs.nics), ...needs };
}

function expectation(
  setting: ProviderOutlook['setting'],
  values: SettingValues,
  nics: Need,
): Pick<ProviderOutlook, 'provider' | 'reason'> {
  if (setting === 'tcp') return { provider: 'tcp', reason: 'engine.provider is tcp' };
  if (setting === 'tcpx') {
    return {
      provider: 'tcpx',
      reason: 'engine.provider is tcpx: where the plugin does not open, no engine does',
    };
  }
  const obstacle = obstacleToTcpx(values) || (nics.state === 'missing' ? nics.text : '');
  if (obstacle !== '') return { provider: 'tcp', reason: obstacle };
  return {
    provider: 'tcpx',
    reason: 'nothing is missing here; tcp with peers on this host, and with those without tcpx',
  };
}

function pluginNeed(values: SettingValues): Need {
  const named = values['plugin.path'];
  const path = named === '' ? DEFAULT_PLUGIN_PATH : named;
  if (path === EMULATOR_WORD) return { state: 'found', text: 'the emulator of this package' };
  // A bare name is looked for by the loader, in folders that it knows.
  if (!path.includes('/')) return { state: 'unknown', text: `${path}, found by the loader or not` };
  if (existsSync(path)) return { state: 'found', text: path };
  return { state: 'missing', text: `no plugin at ${path}` };
}

function gpuNeed(): Need {
  const obstacle = gpuObstacle();
  if (obstacle !== '') return { state: 'missing', text: obstacle };
  return { state: 'found', text: 'the CUDA driver knows one' };
}

function nicNeed(values: SettingValues, environment: Environment): Need {
  const nics = namedNics(values['session.nics']);
  try {
    const nicGpus = readNicGpus(environment, values['session.ctrlInterface']);
    const railGpus = values['tcpx.railGpus'];
    const rails = planRails({ nics, gpu: undefined, nicGpus, railGpus });
    if (rails.length === 0) return { state: 'unknown', text: 'the plugin is asked for its NICs' };
    const text = rails.map(({ nic, gpu }) => `${nic} (GPU ${gpu})`).join(', ');
    const isKnown = rails.every(({ nic }) => nicGpus?.has(nic) === true);
    if (isKnown) return { state: 'found', text };
    return { state: 'unknown', text: `${text}, if the plugin has them` };
  } catch (error) {
    if (!isTcpxError(error)) throw error;
    return { state: 'missing', text: error.message };
  }
}
