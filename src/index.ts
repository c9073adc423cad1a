// The public names, listed one by one.

import './base/checked-installation.js';

export { AbortError } from './base/abort.js';
export type { TimedWait } from './base/argument.js';
export type { Config } from './base/config.js';
export { ERROR_CODES, type ErrorCode, isTcpxError, TcpxError } from './base/errors.js';
export type { Log } from './base/log.js';
export type { SettingName, SettingValues } from './base/settings.js';
export type { BlockSpec } from './engine/block-spec.js';
export { type ConnInfo, formatConnInfo, parseConnInfo } from './engine/conn-info.js';
export { Engine } from './engine/engine.js';
export type {
  ConnectOptions,
  DeregisterOptions,
  EngineOptions,
  ListenPlace,
} from './engine/engine-options.js';
export type { PlainMemory } from './engine/lent-memory.js';
export type { PeerNotification } from './engine/notification.js';
export type { NotificationStream } from './engine/notification-stream.js';
export type { ReconnectOptions } from './engine/reconnection.js';
export type { RegisterOptions } from './engine/register-options.js';
export type {
  Blocks,
  ChannelCounters,
  ConnectWait,
  LookupOptions,
  PostOptions,
  Session,
  SessionFacts,
  TransferRequest,
} from './engine/session.js';
export type { ChannelChange, Failover, SessionEventMap } from './engine/session-events.js';
export type { Transfer, TransferProgress, TransferStatus } from './engine/transfer.js';
export type {
  DeviceRange,
  Region,
  RegionDescriptor,
  RegionRights,
  RegionSlice,
  RegionSource,
  RegionTerms,
} from './memory/region.js';
export { sliceRegion } from './memory/region.js';
export { Agent } from './nixl/agent.js';
export type {
  BackendChoice,
  BackendDescription,
  ConnectionChoice,
  TagOptions,
  WaitOptions,
} from './nixl/agent-choice.js';
export type { AgentOptions, OwnMetadataOptions } from './nixl/agent-parts.js';
export {
  BACKEND_API_VERSION,
  type Backend,
  type BackendInit,
  type BackendParams,
  type BackendPlugin,
  type MemViewList,
  type MetaDlist,
  type XferCost,
  type XferPreparation,
} from './nixl/backend.js';
export type { BackendHandle } from './nixl/backend-set.js';
export {
  decodeRegDlist,
  decodeXferDlist,
  encodeRegDlist,
  encodeXferDlist,
} from './nixl/descriptor-codec.js';
export type { BasicDesc, BlobDesc, RegDlist } from './nixl/descriptors.js';
export { describeMemory, type HostDesc } from './nixl/host-memory.js';
export { type MemView, NULL_AGENT, type RemoteDesc, type RemoteDlist } from './nixl/mem-views.js';
export { MemType, XferOp, type XferOpInput } from './nixl/memory-type.js';
export { type AgentMetadata, decodeMetadata, encodeMetadata } from './nixl/metadata.js';
export type { ExchangeOptions } from './nixl/metadata-exchange.js';
export type { NixlNotification } from './nixl/notif-codec.js';
export type { NotifMap } from './nixl/notifier.js';
export { PluginManager } from './nixl/plugin-manager.js';
export type { PreparedDlist } from './nixl/prepared-dlist.js';
export {
  NixlStatus,
  nixlStatusName,
  nixlStatusOf,
  type XferState,
  xferStateOf,
} from './nixl/status.js';
export { tcpxPlugin } from './nixl/tcpx-backend.js';
export type { TelemetrySnapshot, XferTelemetry } from './nixl/telemetry.js';
export { XferDlist, type XferDlistInput } from './nixl/xfer-dlist.js';
export type { XferOptions } from './nixl/xfer-factory.js';
export type { XferRequest } from './nixl/xfer-request.js';
export type { PostOptions as XferPostOptions, XferControl } from './nixl/xfer-runner.js';
export {
  allocateRegionMemory as allocateMemory,
  type PageKind,
  type RegionMemory,
} from './os/region-memory.js';
export type { MemoryHandle, MemoryUse } from './p2p/memory-table.js';
export type { OperationFacts, OperationState, Receive, Send } from './p2p/operation.js';
export { type Role, TcpxSession, type TcpxSessionOptions } from './p2p/tcpx-session.js';
export type {
  OperationBatch,
  OperationCounts,
  ReceiveCounts,
  TcpxTransfer,
} from './p2p/tcpx-transfer.js';
export type { Block, BlockColumns, CheckedBlocks } from './provider/block-columns.js';
export type { SourceEvent } from './provider/contract.js';
export type {
  ChannelReceipt,
  ProviderName,
  Receipt,
  StageTimes,
  TransferPath,
} from './provider/receipt.js';
export type { DevmemVerdict, NicDevmem } from './provider/tcpx/devmem-verdict.js';
export type { PluginReceipt } from './provider/tcpx/plugin-receipt.js';
