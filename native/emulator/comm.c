// A comm from its creation to its end: one direction of one connection.

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "emulator.h"

struct comm *comm_create(bool is_send, struct nic *nic, int gpu, int socket_count) {
  struct comm *comm = calloc(1, sizeof *comm);
  if (comm == NULL) fatal("no memory for a comm");
  comm->is_send = is_send;
  comm->nic = nic;
  comm->gpu = gpu;
  comm->socket_count = socket_count;
  comm->control_fd = -1;
  for (int i = 0; i < SOCKETS_MAX; i++) comm->sockets[i].fd = -1;
  return comm;
}

// Called once all sockets are there.
void comm_connected(struct comm *comm) {
  struct sockaddr_in own = {0};
  struct sockaddr_in peer = {0};
  socklen_t bytes = sizeof own;
  char own_text[INET_ADDRSTRLEN] = "?";
  char peer_text[INET_ADDRSTRLEN] = "?";
  int fd = comm->socket_count > 0 ? comm->sockets[0].fd : comm->control_fd;
  getsockname(fd, (struct sockaddr *)&own, &bytes);
  bytes = sizeof peer;
  getpeername(fd, (struct sockaddr *)&peer, &bytes);
  inet_ntop(AF_INET, &own.sin_addr, own_text, sizeof own_text);
  inet_ntop(AF_INET, &peer.sin_addr, peer_text, sizeof peer_text);
  snprintf(comm->flow, sizeof comm->flow, "%s<%d>%s%s<%d> %s", own_text, ntohs(own.sin_port),
           comm->is_send ? "->" : "<-", peer_text, ntohs(peer.sin_port),
           comm->is_send ? "tx" : "rx");
  comm->is_same_host = is_local_address(&peer);
  comm->is_gpu_unbound = !gpu_is_bound(comm->gpu, comm->nic->name);
  comm->progress_ns = now_ns();
}

void comm_make_unpack_queue(struct comm *comm, struct net_device_handle *device) {
  void *device_meta = NULL;
  comm->pool = pool_of_gpu(comm->gpu);
  comm->meta = pinned_alloc(comm->gpu, sizeof *comm->meta, &device_meta);
  comm->device_handle = device_is_cuda() ? device_alloc(comm->gpu, sizeof *comm->device_handle)
                                         : calloc(1, sizeof *comm->device_handle);
  struct unpack_handle handle = {(uint64_t)(uintptr_t)device_meta,
                                 (uint64_t)(uintptr_t)comm->pool->base, UINT64_MAX};
  if (settings.bad_device == NO_META) handle.meta = 0;
  if (settings.bad_device == NO_BOUNCE) handle.bounce = 0;
  device_write(comm->gpu, comm->device_handle, &handle, sizeof handle);
  device->device_type = settings.device_type;
  device->device_version = NET_DEVICE_UNPACK_VERSION;
  device->handle = comm->device_handle;
  device->size = sizeof handle;
  device->needs_proxy_progress = 1;
  if (settings.bad_device == BAD_TYPE) device->device_type = NET_DEVICE_HOST;
  if (settings.bad_device == BAD_VERSION) device->device_version = NET_DEVICE_UNPACK_VERSION + 1;
  if (settings.bad_device == BAD_SIZE) device->size = sizeof handle * 2;
  if (settings.bad_device == NO_HANDLE) device->handle = NULL;
  if (settings.bad_device == WILD_HANDLE) device->handle = (void *)(uintptr_t)0x1000;
}

static void give_back_pages(struct comm *comm) {
  if (comm->unpack_head != comm->unpack_tail) {
    WARN("head %llu tail %llu some pages not yet freed?", (unsigned long long)comm->unpack_head,
         (unsigned long long)comm->unpack_tail);
  }
  for (uint64_t i = comm->head; i < comm->tail; i++) {
    struct request_state *state = &comm->states[i % DEPTH];
    for (int s = 0; s < SOCKETS_MAX; s++) {
      pool_return(comm->pool, state->pages[s], state->page_count[s]);
    }
  }
  for (int i = 0; i < comm->socket_count; i++) landing_drop(comm, &comm->sockets[i]);
}

// Adds what this comm has moved since the last time to its NIC's counters.
void comm_count_traffic(struct comm *comm) {
  nic_count_traffic(comm->nic, &comm->traffic);
  memset(&comm->traffic, 0, sizeof comm->traffic);
  comm->counted_ns = now_ns();
}

int comm_close(void *opaque) {
  struct comm *comm = opaque;
  if (comm == NULL) return NET_OK;
  if (fault_hits(FAULT_CLOSE_STUCK, comm->nic->name, comm->messages)) {
    for (;;) pause();
  }
  if (comm->done > 0) comm_count_traffic(comm);
  if (!comm->is_send && comm->pool != NULL) give_back_pages(comm);
  workers_end(comm);
  if (device_is_cuda()) device_sync(comm->gpu);  // copies out of the stages
  if (comm->control_fd >= 0) close(comm->control_fd);
  for (int i = 0; i < comm->socket_count; i++) {
    struct data_socket *socket = &comm->sockets[i];
    if (socket->fd >= 0) close(socket->fd);
    INFO("Socket %d total bytes: %llu, passive = %d", i, (unsigned long long)socket->moved_bytes,
         !comm->is_send);
    pinned_free(comm->gpu, socket->stage.memory);
  }
  nic_return_sockets(comm->nic, comm->budget_taken);
  pinned_free(comm->gpu, comm->meta);
  if (device_is_cuda()) device_free(comm->gpu, comm->device_handle);
  else free(comm->device_handle);
  free(comm);
  return NET_OK;
}
