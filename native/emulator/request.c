// The request ring of a comm: 16 deep, strictly first in, first out, for test and for consume.

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "emulator.h"

enum { COUNT_EVERY_NS = 20 * 1000 * 1000 };

struct request_state *state_of(struct request *request) {
  return &request->comm->states[request - request->comm->ring];
}

static struct request *post(struct comm *comm, void *data, int size, struct mhandle *mhandle) {
  if (mhandle == NULL) {
    WARN("mhandle is null");
    return NULL;
  }
  if (comm->tail - comm->head == DEPTH) {
    WARN("unable to allocate requests");
    return NULL;
  }
  struct request *request = &comm->ring[comm->tail % DEPTH];
  memset(request, 0, sizeof *request);
  struct request_state *state = &comm->states[comm->tail % DEPTH];
  memset(state, 0, offsetof(struct request_state, pages));
  state->warned_host = state->has_copies = false;
  state->block_count = 0;
  state->posted_bytes = (uint32_t)size;
  request->comm = comm;
  request->data = data;
  request->mem_type = mhandle->type;
  request->next_socket = -1;
  request->gpu_mem_fd = mhandle->gpu_mem_fd;
  request->gpu_mem_offset = (int32_t)((uint8_t *)data - (uint8_t *)mhandle->data);
  if (comm->tail == comm->active) comm->progress_ns = now_ns();
  comm->tail++;
  return request;
}

int request_isend(void *comm, void *data, int size, int tag, void *mhandle, void **out) {
  (void)tag;
  *out = NULL;
  struct request *request = post(comm, data, size, mhandle);
  if (request == NULL) return NET_INTERNAL;
  request->op = 0;
  request->size = request->size_pending = size;
  *out = request;
  return NET_OK;
}

int request_irecv(void *comm, int n, void **data, int *sizes, int *tags, void **mhandles,
                  void **out) {
  (void)tags;
  *out = NULL;
  if (n != 1) return NET_INTERNAL;
  struct request *request = post(comm, data[0], sizes[0], mhandles[0]);
  if (request == NULL) return NET_INTERNAL;
  request->op = 1;
  request->size = sizes[0];
  request->size_pending = -1;
  *out = request;
  return NET_OK;
}

// NET_OK where the fault, if any, is one that shows later.
static int strike(struct comm *comm) {
  const char *nic = comm->nic->name;
  if (fault_hits(FAULT_CRASH, nic, comm->messages)) raise(SIGSEGV);
  if (fault_hits(FAULT_HANG, nic, comm->messages)) {
    for (;;) pause();
  }
  if (fault_hits(FAULT_PEER_CLOSED, nic, comm->messages)) {
    for (int i = 0; i < comm->socket_count; i++) shutdown(comm->sockets[i].fd, SHUT_RDWR);
    shutdown(comm->control_fd, SHUT_RDWR);
    comm->is_control_closed = true;
    return NET_SYSTEM;
  }
  if (fault_hits(FAULT_CONTROL_ERROR, nic, comm->messages)) {
    WARN("%s Call to socket op recv(1) failed : %s", comm->flow, strerror(ENOMEM));
    return NET_SYSTEM;
  }
  if (fault_hits(FAULT_SOCKET_DEATH, nic, comm->messages)) {
    for (int i = 0; i < comm->socket_count; i++) {
      if (!comm->sockets[i].is_dead) socket_die(comm, i, "poll(0)", EIO);
    }
  }
  return NET_OK;
}

static void warn_if_slow(struct comm *comm) {
  if (comm->done == comm->tail) return;
  uint64_t now = now_ns();
  if (now - comm->progress_ns < settings.warn_after_ns) return;
  if (comm->warned_ns != 0 && now - comm->warned_ns < settings.warn_every_ns) return;
  comm->warned_ns = now;
  bool has_tasks = false;
  for (int i = 0; i < comm->socket_count; i++) has_tasks |= comm->sockets[i].count > 0;
  if (comm->is_send && has_tasks) WARN("%s send timeout error 11", comm->flow);
  else if (comm->is_send) WARN("%s tx comp timeout poll", comm->flow);
  else if (has_tasks) WARN("%s recv timeout error 11", comm->flow);
  else WARN("%s rx ctrl timeout cnt 1", comm->flow);
}

int request_test(void *opaque, int *done, int *sizes) {
  (void)sizes;  // never written, as in the original
  struct request *request = opaque;
  if (request == NULL || request->comm == NULL) {
    WARN("test called with NULL request");
    return NET_INTERNAL;
  }
  struct comm *comm = request->comm;
  *done = 0;
  int result = strike(comm);
  if (result != NET_OK) return result;
  result = comm->is_send ? send_progress(comm) : receive_progress(comm);
  warn_if_slow(comm);
  if (result == NET_INTERNAL || comm->done == comm->active) return result;
  if (request != &comm->ring[comm->done % DEPTH]) {
    WARN("test called with invalid request");
    return NET_INTERNAL;
  }
  bool is_complete = comm->is_send ? send_is_complete(comm, request)
                                   : request->size_pending == 0 && landing_is_over(request);
  if (!is_complete) return result;
  if (!comm->is_send) receive_publish(request);
  comm->done++;
  if (comm->is_send) comm->head++;
  comm->messages++;
  *done = 1;
  // A NIC counts at no cost; the file costs a lock, so busy comms write it now and then.
  bool is_busy = comm->done != comm->tail;
  if (!is_busy || comm->progress_ns > comm->counted_ns + COUNT_EVERY_NS) comm_count_traffic(comm);
  return result;
}

int request_consumed(void *opaque, int n, void *opaque_request) {
  struct comm *comm = opaque;
  struct request *request = opaque_request;
  if (request == NULL || n != 1) return NET_INTERNAL;
  if (comm->is_send) {
    WARN("irecvConsumed called with a send request");
    return NET_OK;
  }
  if (request->slot.count == NULL) {
    WARN("irecvConsumed called with inactive unpack slot");
    return NET_INTERNAL;
  }
  if (comm->head == comm->done) {
    WARN("irecvConsumed called with no inactive request");
    return NET_INTERNAL;
  }
  if (request != &comm->ring[comm->head % DEPTH]) {
    WARN("irecvConsumed called with invalid request");
    return NET_INTERNAL;
  }
  if (request->slot.index != comm->unpack_head % UNPACK_SLOTS ||
      comm->unpack_head == comm->unpack_tail) {
    WARN("irecvConsumed called with q_idx %llu vs head %llu",
         (unsigned long long)request->slot.index, (unsigned long long)comm->unpack_head);
    return NET_INTERNAL;
  }
  receive_recycle(comm, request);
  request->slot.count = NULL;
  comm->unpack_head++;
  comm->head++;
  return NET_OK;
}

struct task *socket_push(struct data_socket *socket, struct request *request, uint32_t size) {
  workers_start(request->comm);
  struct task *task = &socket->tasks[(socket->first + socket->count) % TASKS_MAX];
  socket->count++;
  *task = (struct task){.request = request, .size = size};
  task->message_offset = (uint32_t)request->offset;
  return task;
}

void socket_pop(struct data_socket *socket) {
  socket->first = (socket->first + 1) % TASKS_MAX;
  socket->count--;
}

// The thread that served the socket ends with one warning; its requests hang without an error.
void socket_die(struct comm *comm, int index, const char *call, int error) {
  comm->sockets[index].is_dead = true;
  if (error == 0) WARN("%s Connection closed by remote peer", comm->flow);
  else WARN("%s Call to socket op %s failed : %s", comm->flow, call, strerror(error));
}
