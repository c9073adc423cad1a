// Generated from src/base/service-layout.ts by `npm run docs`; edit the tables there.
#ifndef TCPX_P2P_LAYOUT_H
#define TCPX_P2P_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

enum {
  SERVICE_VERSION = 3,
  COMMAND_POST = 1,
  COMMAND_CANCEL = 2,
  COMMAND_NOTIFY = 3,
  EVENT_NOTIFICATION = 1,
  COMMAND_RING_DATA_BYTES = 1048576,
  EVENT_RING_DATA_BYTES = 1048576,
  NOTIFICATION_BYTES_MAX = 262144,
  MESSAGE_TEXT_BYTES_MAX = 16384,
  PREPARE_HEAD_BYTES = 16,
  WAY_COPIED = 0,
  WAY_SHARED = 1,
  WAY_IPC = 2,
  WAY_VMM = 3,
  WAY_POOL = 4,
  REGISTER_DESCRIPTORS_MAX = 128,
};

enum {
  MESSAGE_ATTACH = 1,
  MESSAGE_REGISTER = 2,
  MESSAGE_DEREGISTER = 3,
  MESSAGE_LOAD_PEER = 4,
  MESSAGE_CONNECT = 5,
  MESSAGE_DISCONNECT = 6,
  MESSAGE_FIND_PEER = 7,
  MESSAGE_LOAD_REGION = 8,
  MESSAGE_UNLOAD_REGION = 9,
  MESSAGE_PREPARE = 10,
  MESSAGE_RELEASE = 11,
  MESSAGE_EXPLAIN = 12,
  MESSAGE_RECEIPT = 13,
  MESSAGE_TELEMETRY = 14,
  MESSAGE_CLOSE = 15,
};

struct client_block {
  int32_t service_sleeps;
  uint8_t pad_4[124];
  int32_t events;
  uint8_t pad_132[124];
  int32_t waiters;
  uint8_t pad_260[124];
  int32_t ended;
  uint8_t pad_388[3708];
};
_Static_assert(sizeof(struct client_block) == 4096, "Client block");
_Static_assert(offsetof(struct client_block, service_sleeps) == 0, "serviceSleeps");
_Static_assert(offsetof(struct client_block, events) == 128, "events");
_Static_assert(offsetof(struct client_block, waiters) == 256, "waiters");
_Static_assert(offsetof(struct client_block, ended) == 384, "ended");

struct ring_block {
  int32_t tail;
  uint8_t pad_4[124];
  int32_t head;
  uint8_t pad_132[124];
};
_Static_assert(sizeof(struct ring_block) == 256, "Ring header");
_Static_assert(offsetof(struct ring_block, tail) == 0, "tail");
_Static_assert(offsetof(struct ring_block, head) == 128, "head");

struct request_entry {
  int32_t finished;
  int32_t status;
  uint8_t pad_8[56];
};
_Static_assert(sizeof(struct request_entry) == 64, "Request entry");
_Static_assert(offsetof(struct request_entry, finished) == 0, "finished");
_Static_assert(offsetof(struct request_entry, status) == 4, "status");

struct peer_entry {
  int32_t connects;
  int32_t status;
  uint8_t pad_8[56];
};
_Static_assert(sizeof(struct peer_entry) == 64, "Peer entry");
_Static_assert(offsetof(struct peer_entry, connects) == 0, "connects");
_Static_assert(offsetof(struct peer_entry, status) == 4, "status");

struct post_record {
  int32_t request;
  int32_t number;
  int32_t deadline_ms;
  int32_t notify_bytes;
};
_Static_assert(sizeof(struct post_record) == 16, "Record POST");
_Static_assert(offsetof(struct post_record, request) == 0, "request");
_Static_assert(offsetof(struct post_record, number) == 4, "number");
_Static_assert(offsetof(struct post_record, deadline_ms) == 8, "deadlineMs");
_Static_assert(offsetof(struct post_record, notify_bytes) == 12, "notifyBytes");

struct cancel_record {
  int32_t request;
  int32_t number;
};
_Static_assert(sizeof(struct cancel_record) == 8, "Record CANCEL");
_Static_assert(offsetof(struct cancel_record, request) == 0, "request");
_Static_assert(offsetof(struct cancel_record, number) == 4, "number");

struct notify_record {
  int32_t peer;
  int32_t bytes;
};
_Static_assert(sizeof(struct notify_record) == 8, "Record NOTIFY");
_Static_assert(offsetof(struct notify_record, peer) == 0, "peer");
_Static_assert(offsetof(struct notify_record, bytes) == 4, "bytes");

struct notification_record {
  int32_t name_bytes;
  int32_t bytes;
};
_Static_assert(sizeof(struct notification_record) == 8, "Record NOTIFICATION");
_Static_assert(offsetof(struct notification_record, name_bytes) == 0, "nameBytes");
_Static_assert(offsetof(struct notification_record, bytes) == 4, "bytes");

struct message_head {
  int32_t bytes;
  int32_t kind;
  int32_t sequence;
  int32_t status;
};
_Static_assert(sizeof(struct message_head) == 16, "Message head");
_Static_assert(offsetof(struct message_head, bytes) == 0, "bytes");
_Static_assert(offsetof(struct message_head, kind) == 4, "kind");
_Static_assert(offsetof(struct message_head, sequence) == 8, "sequence");
_Static_assert(offsetof(struct message_head, status) == 12, "status");

struct attach_message {
  int32_t version;
  int32_t name_bytes;
  int32_t settings_bytes;
  int32_t reserved;
  uint64_t probe_addr;
  uint8_t probe[16];
  uint8_t pad_40[8];
};
_Static_assert(sizeof(struct attach_message) == 48, "ATTACH");
_Static_assert(offsetof(struct attach_message, version) == 0, "version");
_Static_assert(offsetof(struct attach_message, name_bytes) == 4, "nameBytes");
_Static_assert(offsetof(struct attach_message, settings_bytes) == 8, "settingsBytes");
_Static_assert(offsetof(struct attach_message, reserved) == 12, "reserved");
_Static_assert(offsetof(struct attach_message, probe_addr) == 16, "probeAddr");
_Static_assert(offsetof(struct attach_message, probe) == 24, "probe");

struct attached_message {
  int32_t version;
  int32_t request_count;
  int32_t peer_count;
  int32_t blocks_max;
  int32_t can_copy;
  int32_t mapping_bytes;
  int32_t commands_at;
  int32_t events_at;
  int32_t requests_at;
  int32_t peers_at;
  int32_t info_bytes;
  uint8_t pad_44[4];
};
_Static_assert(sizeof(struct attached_message) == 48, "ATTACH, answer");
_Static_assert(offsetof(struct attached_message, version) == 0, "version");
_Static_assert(offsetof(struct attached_message, request_count) == 4, "requestCount");
_Static_assert(offsetof(struct attached_message, peer_count) == 8, "peerCount");
_Static_assert(offsetof(struct attached_message, blocks_max) == 12, "blocksMax");
_Static_assert(offsetof(struct attached_message, can_copy) == 16, "canCopy");
_Static_assert(offsetof(struct attached_message, mapping_bytes) == 20, "mappingBytes");
_Static_assert(offsetof(struct attached_message, commands_at) == 24, "commandsAt");
_Static_assert(offsetof(struct attached_message, events_at) == 28, "eventsAt");
_Static_assert(offsetof(struct attached_message, requests_at) == 32, "requestsAt");
_Static_assert(offsetof(struct attached_message, peers_at) == 36, "peersAt");
_Static_assert(offsetof(struct attached_message, info_bytes) == 40, "infoBytes");

struct register_message {
  int32_t way;
  int32_t rights;
  uint64_t addr;
  uint64_t bytes;
  uint64_t offset;
  uint8_t handle[64];
  uint8_t pci_address[32];
};
_Static_assert(sizeof(struct register_message) == 128, "REGISTER");
_Static_assert(offsetof(struct register_message, way) == 0, "way");
_Static_assert(offsetof(struct register_message, rights) == 4, "rights");
_Static_assert(offsetof(struct register_message, addr) == 8, "addr");
_Static_assert(offsetof(struct register_message, bytes) == 16, "bytes");
_Static_assert(offsetof(struct register_message, offset) == 24, "offset");
_Static_assert(offsetof(struct register_message, handle) == 32, "handle");
_Static_assert(offsetof(struct register_message, pci_address) == 96, "pciAddress");

struct block_row {
  int32_t memory;
  int32_t region;
  uint64_t local_offset;
  uint64_t remote_offset;
  uint64_t bytes;
};
_Static_assert(sizeof(struct block_row) == 32, "Block of PREPARE");
_Static_assert(offsetof(struct block_row, memory) == 0, "memory");
_Static_assert(offsetof(struct block_row, region) == 4, "region");
_Static_assert(offsetof(struct block_row, local_offset) == 8, "localOffset");
_Static_assert(offsetof(struct block_row, remote_offset) == 16, "remoteOffset");
_Static_assert(offsetof(struct block_row, bytes) == 24, "bytes");

#endif
