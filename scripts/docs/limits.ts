// The table of limits that are settings, for SECURITY.md, from the settings themselves.

import { type SettingName, settingOf } from '../../src/base/settings.js';
import { formatBytes } from '../../src/base/units.js';
import { markdownTable } from './markdown-table.js';

/** Settings that bound what peers make a process hold. */
const LIMITS: readonly SettingName[] = [
  'session.handshakesMax',
  'session.peersMax',
  'session.fencesMax',
  'session.offersMax',
  'memory.readsBytes',
  'memory.sharedBytes',
  'flow.sendBytes',
  'flow.receiveBytes',
  'memory.regionsMax',
  'memory.transfersMax',
  'memory.streamMax',
  'memory.streamBytes',
  'memory.spareControls',
  'memory.spareTables',
  'tcpx.peerChunksMax',
  'tcpx.outboxBytes',
  'nixl.inboxBytesMax',
  'nixl.inboxPeerBytesMax',
  'nixl.partialsMax',
  'nixl.earlyMax',
  'nixl.outboxBytesMax',
  'nixl.metadataBytesMax',
  'nixl.listenerBytesMax',
  'nixl.listenerConnectionsMax',
  'nixl.peersMax',
  'nixl.remoteRegionsMax',
  'nixl.pushedPerHostMax',
  'nixl.pushedRegionsMax',
  'nixl.storeAnswerBytesMax',
  'service.clientsMax',
  'service.strangersMax',
  'service.requestsMax',
  'service.blocksMax',
  'service.peersMax',
  'service.remoteRegionsMax',
  'service.inboxBytes',
];

export function renderLimits(): string {
  return markdownTable(
    ['setting', 'default', 'bounds', 'beyond it, or what it costs'],
    LIMITS.map((name) => {
      const setting = settingOf(name);
      const { fallback } = setting;
      const value = setting.kind === 'bytes' ? formatBytes(setting.fallback) : String(fallback);
      return [`\`${name}\``, value, setting.summary, setting.cost];
    }),
  );
}
