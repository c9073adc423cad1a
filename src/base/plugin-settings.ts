// Settings of the NCCL net plugin.

import type { Setting } from './setting.js';

/** Where the plugin's installer puts it. */
export const DEFAULT_PLUGIN_PATH = '/usr/local/tcpx/lib64/libnccl-net-tcpx.so';

/** As a plugin's path: the emulator of this package, compiled where it must be. */
export const EMULATOR_WORD = 'emulator';

export const PLUGIN_SETTINGS = {
  'plugin.path': {
    kind: 'text',
    value: 'FILE',
    fallback: '',
    flag: 'plugin',
    aliases: ['UCCL_TCPX_PLUGIN_PATH'],
    summary:
      'The NCCL net plugin, as a path or library name; empty tries ' +
      `${DEFAULT_PLUGIN_PATH} and then the names that NCCL tries; ${EMULATOR_WORD} builds and ` +
      `takes this package’s emulator (a file of that name is ./${EMULATOR_WORD}).`,
    cost: 'The library is loaded and run: it must be trusted.',
  },
  'plugin.name': {
    kind: 'text',
    fallback: '',
    aliases: ['NCCL_NET_PLUGIN'],
    summary: 'Which plugin NCCL would load: NAME or libnccl-net-NAME.so.',
    cost: 'Ignored where plugin.path is given.',
  },
} as const satisfies Readonly<Record<string, Setting>>;
