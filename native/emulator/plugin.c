// The exported table, and the calls that are too small for a file of their own.

#include <signal.h>
#include <stdlib.h>

#include "emulator.h"

#define EXPORT __attribute__((visibility("default")))

// Tells tools that this is not the real plugin: results made with it are `emulated`.
EXPORT const char tcpx_emu_version[] = "3.1.9.emulator";

static bool is_initialised;

static int plugin_init(net_logger logger) {
  if (is_initialised) {
    WARN("gpu lib init twice");
    return NET_INTERNAL;
  }
  is_initialised = true;
  log_open(logger);
  log_line(LOG_LEVEL_INFO, LOG_INIT, __func__, __LINE__, "NET/GPUDirectTCPX ver. %s",
           tcpx_emu_version);
  if (settings_number("NCCL_GPUDIRECTTCPX_SOCKET_ENABLE", 1, 0, 1) == 0) {
    INFO("GPUDirectTCPX disabled");
    return NET_INTERNAL;
  }
  if (settings_number("NCCL_GPUDIRECTTCPX_FLOW_STEERING_STRATEGY", 3, 0, 3) != 3) {
    WARN("Unsupported Flow Steering Strategy");
    return NET_INTERNAL;
  }
  if (!settings_read() || !faults_read()) return NET_INTERNAL;
  if (fault_hits(FAULT_INIT, NULL, 0)) {
    WARN("register failed against receive_datapath_manager");
    return NET_INTERNAL;
  }
  if (!device_open(settings.memory) || !nics_find()) return NET_INTERNAL;
  workers_read();
  return NET_OK;
}

static int plugin_devices(int *count) {
  *count = nic_count > 0 ? nic_count : -1;
  return NET_OK;
}

static int plugin_get_properties(int dev, struct net_properties *properties) {
  if (dev < 0 || dev >= NICS_MAX) return NET_INTERNAL;
  const struct nic *nic = &nics[dev];
  bool is_unpack = settings.device_type == NET_DEVICE_UNPACK;
  *properties = (struct net_properties){
      .name = (char *)(uintptr_t)nic->name,
      .pci_path = nic->pci_path,
      .guid = (uint64_t)dev,
      .ptr_support = is_unpack && device_is_cuda() ? PTR_HOST | PTR_CUDA : PTR_HOST,
      .speed_mbps = nic->speed_mbps,
      .max_comms = 65536,
      .max_recvs = 1,
      .device_type = settings.device_type,
      .device_version = NET_DEVICE_UNPACK_VERSION,
  };
  return NET_OK;
}

// Type CUDA is accepted for plain memory too where there is no GPU: the scatter path then runs
// on host memory.
static int plugin_reg_mr(void *comm, void *data, int size, int type, void **out) {
  const struct comm *registering = comm;
  *out = NULL;
  if (type == PTR_CUDA && settings.strict_pci && registering->nic->pci_path == NULL) {
    raise(SIGSEGV);  // the original reads the PCI address out of a null path
  }
  if (type != PTR_HOST && type != PTR_CUDA) return NET_INTERNAL;
  if (type == PTR_CUDA && (uintptr_t)data % PAGE_BYTES != 0) {
    WARN("data not aligned");
    return NET_INTERNAL;
  }
  if (type == PTR_CUDA && settings_number("NCCL_USE_DMA_BUF", 1, 0, 1) == 0) {
    WARN("p2pdma api won't work");
    return NET_INTERNAL;
  }
  // The driver exports whole pages only, and the plugin passes its refusal on.
  bool is_too_large = (uint64_t)size > settings.register_max_bytes;
  if (type == PTR_CUDA && (size % PAGE_BYTES != 0 || is_too_large)) {
    WARN("cuMemGetHandleForAddressRange of %d bytes failed", size);
    return NET_INTERNAL;
  }
  struct mhandle *mhandle = calloc(1, sizeof *mhandle);
  if (mhandle == NULL) return NET_SYSTEM;
  *mhandle = (struct mhandle){data, data, type, -1};
  *out = mhandle;
  return NET_OK;
}

static int plugin_dereg_mr(void *comm, void *mhandle) {
  (void)comm;
  free(mhandle);
  return NET_OK;
}

// The original reads an uninitialised request here; nobody may call it.
static int plugin_iflush(void *comm, int n, void **data, int *sizes, void **mhandles,
                         void **request) {
  (void)comm, (void)n, (void)data, (void)sizes, (void)mhandles;
  *request = NULL;
  WARN("iflush is not supported");
  return NET_INTERNAL;
}

static int plugin_get_device_mr(void *comm, void *mhandle, void **device_mhandle) {
  (void)comm, (void)mhandle, (void)device_mhandle;
  return NET_OK;
}

EXPORT const struct net_plugin_v7 ncclNetPlugin_v7 = {
    .name = "GPUDirectTCPX_v7",
    .init = plugin_init,
    .devices = plugin_devices,
    .get_properties = plugin_get_properties,
    .listen = setup_listen,
    .connect = setup_connect,
    .accept = setup_accept,
    .reg_mr = plugin_reg_mr,
    .dereg_mr = plugin_dereg_mr,
    .isend = request_isend,
    .irecv = request_irecv,
    .iflush = plugin_iflush,
    .test = request_test,
    .close_send = comm_close,
    .close_recv = comm_close,
    .close_listen = setup_close_listen,
    .get_device_mr = plugin_get_device_mr,
    .irecv_consumed = request_consumed,
};
