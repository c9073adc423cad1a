// What the verbs of an agent are given beside their subject, by kind; checked before anything else.

import {
  checkFlag,
  checkFunction,
  checkList,
  checkLog,
  checkOptions,
  checkRecord,
  checkSignal,
  checkTime,
  wrongArgument,
} from '../base/argument.js';
import { PluginManager } from './plugin-manager.js';

/** Of every verb that may be told which backends to use. */
export const CHOICE = { backends: checkList };
export const WAIT = { signal: checkSignal };
export const CHOICE_AND_WAIT = { ...CHOICE, ...WAIT };
export const CONNECTION = { ...CHOICE_AND_WAIT, timeoutMs: checkTime };
export const TAG = { ...CHOICE, tagIsPrefix: checkFlag };
export const OWN_METADATA = { ...CHOICE, includeConnInfo: checkFlag };

const CREATE = {
  plugins: checkPlugins,
  useListenThread: checkFlag,
  captureTelemetry: checkFlag,
  settings: checkRecord,
  onPeerEvicted: checkFunction,
  log: checkLog,
  clock: checkRecord,
  signal: checkSignal,
};

export function checkAgentOptions(options: unknown): void {
  checkOptions('Agent.create', options, CREATE);
}

function checkPlugins(what: string, plugins: unknown): void {
  if (!(plugins instanceof PluginManager)) throw wrongArgument(what, 'a PluginManager', plugins);
}
