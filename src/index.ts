// The public names, listed one by one.

import './base/checked-installation.js';

export { AbortError } from './base/abort.js';
export type { TimedWait } from './base/argument.js';
export type { Config, EffectiveSetting } from './base/config.js';
export {
  ERROR_CODES,
  type ErrorCode,
  type ErrorEntry,
  type ErrorFacts,
  isTcpxError,
  TcpxError,
  type TcpxErrorOptions,
} from './base/errors.js';
export type { Log, LogFields } from './base/log.js';
export type { SettingValue } from './base/setting.js';
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
  TransferRequest,
} from './engine/session.js';
export type { ChannelChange, Failover, SessionEventMap } from './engine/session-events.js';
export type { SessionState } from './engine/session-state.js';
export type { Transfer, TransferProgress, TransferStatus } from './engine/transfer.js';
export type {
  DeviceRange,
  Region,
  RegionDescriptor,
  RegionRights,
  RegionSlice,
  RegionSource,
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
  type RegionMd,
  type TargetMd,
  type XferCost,
  type XferHandle,
  type XferPreparation,
} from './nixl/backend.js';
export type { BackendHandle } from './nixl/backend-handle.js';
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
export {
  type AgentMetadata,
  type ConnectionEntry,
  decodeMetadata,
  encodeMetadata,
  type SectionEntry,
} from './nixl/metadata.js';
export type { ExchangeOptions } from './nixl/metadata-exchange.js';
export type { NixlNotification } from './nixl/notif-codec.js';
export type { NotifMap } from './nixl/notifier.js';
export { PluginManager } from './nixl/plugin-manager.js';
export type { PreparedDlist } from './nixl/prepared-dlist.js';
export {
  NixlStatus,
  type NixlStatusName,
  nixlStatusName,
  nixlStatusOf,
  type XferState,
  xferStateOf,
} from './nixl/status.js';
export { tcpxPlugin } from './nixl/tcpx-backend.js';
export type { TelemetrySnapshot, XferTelemetry } from './nixl/telemetry.js';
export {
  type DescTriple,
  XferDlist,
  type XferDlistInput,
  type XferDlistLiteral,
} from './nixl/xfer-dlist.js';
export type { XferOptions } from './nixl/xfer-factory.js';
export type { XferRequest } from './nixl/xfer-request.js';
export type { PostOptions as XferPostOptions, XferControl } from './nixl/xfer-runner.js';
export type { Pauses } from './os/collector-pauses.js';
export {
  allocateRegionMemory as allocateMemory,
  type PageKind,
  type RegionMemory,
} from './os/region-memory.js';
export type { OperationState } from './p2p/live-operation.js';
export type { MemoryHandle, MemoryUse } from './p2p/memory-table.js';
export type { Receive, Send } from './p2p/operation.js';
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
  Choice,
  DataPath,
  ProviderName,
  Receipt,
  StageTimes,
  TransferPath,
} from './provider/receipt.js';
export type { LaneStats } from './provider/tcp/lane-stats.js';
export type { ZeroCopyStats } from './provider/tcp/zero-copy-stats.js';
export type {
  ChannelCounters as PluginChannelCounters,
  HeadChunk,
} from './provider/tcpx/channel-counters.js';
export type { DevmemVerdict, NicDevmem } from './provider/tcpx/devmem-verdict.js';
export type {
  BindingTexts,
  HelperThread,
  ThreadPlacement,
} from './provider/tcpx/helper-threads.js';
export type { RegionWay } from './provider/tcpx/host-region.js';
export type { PluginReceipt } from './provider/tcpx/plugin-receipt.js';
export type { PluginIdentity } from './wire/match-hello.js';
