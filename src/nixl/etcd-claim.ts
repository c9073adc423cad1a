// The name of an agent in etcd is claimed: its anchor is put under a lease only where nobody else
// holds it. So two agents of one name cannot take each other's keys with them when they leave.

import { sleepMs } from '../base/clock.js';
import { TcpxError } from '../base/errors.js';
import type { EtcdClient } from './etcd-client.js';

const LOOK_MS = 200;

/**
 * Claims `key` for `lease`. A holder that died is waited for until it has missed a keep-alive,
 * which comes every third of a lease; one that lives is an error.
 */
export async function claimAnchor(client: EtcdClient, key: string, lease: string): Promise<void> {
  let seen: { readonly lease: string; readonly seconds: number } | undefined;
  for (;;) {
    if (await client.putIfAbsent(key, lease)) return;
    const holder = await client.leaseOf(key);
    if (holder === undefined) continue;
    // An answer that was lost, or an anchor that dies with nobody: the latter are NIXL's own.
    if (holder === lease) return;
    if (holder === '0') {
      await client.put(key, new Uint8Array(0), lease);
      return;
    }
    const { seconds, granted } = await client.leaseLeft(holder);
    if (seen?.lease === holder && seconds > seen.seconds) throw taken(key, holder);
    if (seconds < (granted * 2) / 3 - 1) await client.revokeLease(holder).catch(() => undefined);
    seen = { lease: holder, seconds };
    await sleepMs(LOOK_MS);
  }
}

function taken(key: string, holder: string): TcpxError {
  return new TcpxError(
    'ERR_USAGE_STATE',
    `the agent name of ${key} is taken: another agent holds it in etcd (lease ${holder}); ` +
      'give each agent a name of its own',
    { facts: { key, holder } },
  );
}
