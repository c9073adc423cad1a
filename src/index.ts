// The public names, listed one by one.

export { ERROR_CODES, type ErrorCode, isTcpxError, TcpxError } from './base/errors.js';
export type { Config } from './base/config.js';
export type { Log } from './base/log.js';
export type { SettingName, SettingValues } from './base/settings.js';
export { Engine, type EngineOptions } from './engine/engine.js';
export type { Notification } from './engine/notification.js';
export type { ChannelReceipt, Receipt } from './engine/receipt.js';
export type { Block } from './engine/request.js';
export type { PostOptions, Request, Session } from './engine/session.js';
export type { Transfer, TransferStatus } from './engine/transfer.js';
export type { Region, RegionDescriptor, RegionRights, RegionSource } from './memory/region.js';
export type { PageKind, RegionMemory } from './memory/region-memory.js';
