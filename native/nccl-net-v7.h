// The NCCL net plugin interface, version 7, as far as the emulator and its driver need it.
// Layouts are part of the public interface; sizes are asserted below.
#ifndef NCCL_NET_V7_H
#define NCCL_NET_V7_H

#include <stddef.h>
#include <stdint.h>

enum { NET_OK = 0, NET_CUDA = 1, NET_SYSTEM = 2, NET_INTERNAL = 3, NET_ARGUMENT = 4 };
enum { PTR_HOST = 1, PTR_CUDA = 2, PTR_DMABUF = 4 };
enum { NET_DEVICE_HOST = 0, NET_DEVICE_UNPACK = 1, NET_DEVICE_UNPACK_VERSION = 7 };
enum { LOG_LEVEL_WARN = 2, LOG_LEVEL_INFO = 3, LOG_LEVEL_TRACE = 5 };
enum { LOG_INIT = 0x1, LOG_NET = 0x10 };
enum { NET_HANDLE_BYTES = 128 };

typedef void (*net_logger)(int level, unsigned long flags, const char *file, int line,
                           const char *format, ...);

struct net_properties {
  char *name;
  char *pci_path;
  uint64_t guid;
  int ptr_support;
  int speed_mbps;
  int port;
  float latency;
  int max_comms;
  int max_recvs;
  int device_type;
  int device_version;
};
_Static_assert(sizeof(struct net_properties) == 56, "properties v7 have 56 bytes");

// The caller allocates it, accept fills it; `handle` is an address on the GPU.
struct net_device_handle {
  int device_type;
  int device_version;
  void *handle;
  size_t size;
  int needs_proxy_progress;
};
_Static_assert(sizeof(struct net_device_handle) == 32, "device handle has 32 bytes");

struct net_plugin_v7 {
  const char *name;
  int (*init)(net_logger logger);
  int (*devices)(int *count);
  int (*get_properties)(int dev, struct net_properties *properties);
  int (*listen)(int dev, void *handle, void **listen_comm);
  int (*connect)(int dev, void *handle, void **send_comm, struct net_device_handle **device);
  int (*accept)(void *listen_comm, void **recv_comm, struct net_device_handle **device);
  int (*reg_mr)(void *comm, void *data, int size, int type, void **mhandle);
  int (*reg_mr_dmabuf)(void *comm, void *data, size_t size, int type, uint64_t offset, int fd,
                       void **mhandle);
  int (*dereg_mr)(void *comm, void *mhandle);
  int (*isend)(void *comm, void *data, int size, int tag, void *mhandle, void **request);
  int (*irecv)(void *comm, int n, void **data, int *sizes, int *tags, void **mhandles,
               void **request);
  int (*iflush)(void *comm, int n, void **data, int *sizes, void **mhandles, void **request);
  int (*test)(void *request, int *done, int *sizes);
  int (*close_send)(void *comm);
  int (*close_recv)(void *comm);
  int (*close_listen)(void *listen_comm);
  int (*get_device_mr)(void *comm, void *mhandle, void **device_mhandle);
  int (*irecv_consumed)(void *recv_comm, int n, void *request);
};
_Static_assert(sizeof(struct net_plugin_v7) == 152, "table v7 has 152 bytes");

// One fragment of a received message: where it lies in the bounce buffer, where it belongs.
struct unpack_entry {
  uint32_t source_offset;
  uint32_t length;
  uint64_t target_offset;
};
_Static_assert(sizeof(struct unpack_entry) == 16, "entry has 16 bytes");

enum { UNPACK_SLOTS = 16, UNPACK_ENTRIES = 2048 };

struct unpack_meta {
  struct unpack_entry entries[UNPACK_SLOTS][UNPACK_ENTRIES];
  uint64_t counts[UNPACK_SLOTS];
};
_Static_assert(sizeof(struct unpack_meta) == 524416, "unpack meta has 524416 bytes");

// What `net_device_handle.handle` points at.
struct unpack_handle {
  uint64_t meta;
  uint64_t bounce;
  uint64_t head;
};
_Static_assert(sizeof(struct unpack_handle) == 24, "unpack handle has 24 bytes");

#endif
