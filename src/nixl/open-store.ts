// Opens the central metadata store that the settings name, if they name one.

import { TcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { SettingValues } from '../base/settings.js';
import { EtcdStore } from './etcd-store.js';
import type { MetadataStore } from './metadata-store.js';
import { TcpStore } from './tcp-store.js';

export async function openStore(
  agent: string,
  settings: SettingValues,
  log: Log,
): Promise<MetadataStore | undefined> {
  const etcd = settings['nixl.etcdEndpoints'];
  const tcpStore = settings['nixl.tcpStoreEndpoint'];
  if (etcd !== '' && tcpStore !== '') {
    throw new TcpxError(
      'ERR_CONFIG_CONFLICT',
      'nixl.etcdEndpoints and nixl.tcpStoreEndpoint are both set; metadata goes to one store',
    );
  }
  if (etcd !== '') {
    return EtcdStore.open(agent, {
      endpoints: etcd.split(',').map((endpoint) => endpoint.trim().replace(/\/$/, '')),
      namespace: settings['nixl.etcdNamespace'],
      watchTimeoutMs: settings['nixl.etcdWatchTimeoutMs'],
      leaseSeconds: settings['nixl.etcdLeaseSeconds'],
      answerBytesMax: settings['nixl.storeAnswerBytesMax'],
      log,
    });
  }
  if (tcpStore === '') return undefined;
  return TcpStore.open(agent, {
    endpoint: tcpStore,
    timeoutMs: settings['nixl.tcpStoreTimeoutMs'],
    opTimeoutMs: settings['nixl.tcpStoreOpTimeoutMs'],
    valueBytesMax: settings['nixl.metadataBytesMax'],
  });
}
