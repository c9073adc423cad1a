// Starts what an agent exchanges metadata by: its listener, where it wants one, and the store.

import { SETTINGS, type SettingValues } from '../base/settings.js';
import type { AgentParts } from './agent-parts.js';
import { MetadataExchange } from './metadata-exchange.js';
import { openStore } from './open-store.js';

/** Where peers are looked for unless a port is named; NIXL's default. */
const PEER_PORT = SETTINGS['nixl.listenPort'].fallback;

export async function openExchange(
  { name, endpoint, peers, log }: AgentParts,
  settings: SettingValues,
  isListening: boolean,
): Promise<MetadataExchange> {
  try {
    if (isListening) {
      await endpoint.listen(settings['nixl.listenHost'], settings['nixl.listenPort']);
    }
    const store = await openStore(name, settings, log);
    const where = { endpoint, store, defaultPort: PEER_PORT };
    return new MetadataExchange({ agent: name, peers, log, ...where });
  } catch (error) {
    await endpoint.close();
    throw error;
  }
}
