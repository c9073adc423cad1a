// `--plugin emulator`: one command tries the tcpx path. Compiled before any process needs it, and
// with nothing to wait for, since there is no hardware behind it.

import { setDefaultVariables, withAuto } from '../base/config.js';
import { EMULATOR_WORD } from '../base/plugin-settings.js';
import { type Command, type Invocation } from './command.js';
import { printNote } from './print.js';

const STEP_US = 1000;

export async function withEmulator(command: Command, invocation: Invocation): Promise<Invocation> {
  const isAsked = invocation.config.values['plugin.path'] === EMULATOR_WORD;
  if (!isAsked || !command.settings.includes('plugin.path')) return invocation;
  const { emulatorLibrary } = await import('../ffi/nccl-net/emulator-library.js');
  const path = emulatorLibrary({ onCompile: () => printNote('compiling the emulator, once') });
  invocation.log.info('emulator', { path });
  setDefaultVariables({ TCPX_EMU_SAME_HOST: '1', TCPX_EMU_SETUP_STEP_MICROS: String(STEP_US) });
  const reason = `the plugin is the ${EMULATOR_WORD}`;
  const quick = withAuto(invocation.config, 'tcpx.steeringWaitUs', STEP_US, reason);
  if (!command.settings.includes('engine.provider')) return { ...invocation, config: quick };
  return { ...invocation, config: withAuto(quick, 'engine.provider', 'tcpx', reason) };
}
