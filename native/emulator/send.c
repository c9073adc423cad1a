// The sending side: messages are cut into chunks, one control record each, and spread over the
// data sockets. A message is done when the peer's TCP has acknowledged its last byte.

#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "emulator.h"

static int flush_control(struct comm *comm) {
  uint32_t moved = 0;
  while (moved < comm->control_out_end) {
    ssize_t count = send(comm->control_fd, comm->control_out + moved, comm->control_out_end - moved,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count < 0) {
      comm->is_control_closed = true;
      return NET_SYSTEM;
    }
    moved += (uint32_t)count;
  }
  comm->control_out_end = 0;
  return NET_OK;
}

static int write_record(struct comm *comm, const struct record *record, const void *inline_data) {
  uint32_t bytes = (uint32_t)sizeof *record + (inline_data == NULL ? 0 : record->size);
  if (comm->control_out_end + bytes > sizeof comm->control_out) {
    int result = flush_control(comm);
    if (result != NET_OK) return result;
  }
  memcpy(comm->control_out + comm->control_out_end, record, sizeof *record);
  if (inline_data != NULL) {
    memcpy(comm->control_out + comm->control_out_end + sizeof *record, inline_data, record->size);
  }
  comm->control_out_end += bytes;
  return NET_OK;
}

// With the receiver-ready handshake a message waits for the peer's index; else it never waits.
static bool may_begin(struct comm *comm) {
  uint32_t index = 0;
  if (!settings.recv_sync) return true;
  ssize_t count = recv(comm->control_fd, &index, sizeof index, MSG_DONTWAIT | MSG_PEEK);
  if (count == 0) comm->is_control_closed = true;
  if (count != (ssize_t)sizeof index) return false;
  recv(comm->control_fd, &index, sizeof index, MSG_DONTWAIT);
  if (index != (uint32_t)(comm->active % DEPTH)) WARN("Recv sync mismatch");
  return true;
}

static int find_socket(struct comm *comm) {
  for (int i = 0; i < comm->socket_count; i++) {
    int index = (comm->next_socket + i) % comm->socket_count;
    if (comm->sockets[index].count < TASKS_MAX) return index;
  }
  return -1;
}

static int cut(struct comm *comm, struct request *request) {
  struct request_state *state = state_of(request);
  struct record record = {.total = (uint32_t)request->size};
  if ((uint32_t)request->size <= settings.inline_bytes) {
    record.type = RECORD_INLINE;
    record.size = record.total;
    request->offset = request->size;
    return write_record(comm, &record, request->data);
  }
  while (request->offset < request->size) {
    uint32_t rest = (uint32_t)(request->size - request->offset);
    uint32_t size = rest < settings.chunk_bytes ? rest : settings.chunk_bytes;
    int index = find_socket(comm);
    // A chunk size of 0 schedules nothing for ever, as the original.
    if (size == 0 || index < 0) return NET_OK;
    record = (struct record){RECORD_NORMAL, (uint16_t)index, size, (uint32_t)request->offset,
                             (uint32_t)request->size};
    int result = write_record(comm, &record, NULL);
    if (result != NET_OK) return result;
    socket_push(&comm->sockets[index], request, size);
    state->unsent_bytes += size;
    request->offset += (int32_t)size;
    comm->next_socket = (index + 1) % comm->socket_count;
  }
  return NET_OK;
}

// Where the next bytes of a task lie in host memory, and how many; NULL while they come from a GPU.
static const uint8_t *task_bytes(struct comm *comm, struct data_socket *socket, struct task *task,
                                 size_t *bytes) {
  if (is_staged(task)) return stage_peek(comm, socket, bytes);
  *bytes = task->size - task->moved;
  return task->request->data + task->message_offset + task->moved;
}

static void send_tasks(struct comm *comm, int index) {
  struct data_socket *socket = &comm->sockets[index];
  while (socket->count > 0 && !socket->is_dead) {
    struct task *task = &socket->tasks[socket->first];
    struct request_state *state = state_of(task->request);
    size_t bytes = 0;
    stage_fetch(comm, socket);
    const uint8_t *source = task_bytes(comm, socket, task, &bytes);
    if (source == NULL) return;
    ssize_t count = send(socket->fd, source, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0) {
      if (errno != EAGAIN && errno != EINTR && errno != ENOBUFS) {
        socket_die(comm, index, "send(0)", errno);
      }
      return;
    }
    if (is_staged(task)) stage_sent(socket, (size_t)count);
    socket->moved_bytes += (uint64_t)count;
    task->moved += (uint32_t)count;
    state->unsent_bytes -= (uint32_t)count;
    comm->progress_ns = now_ns();
    if ((size_t)count < bytes) return;
    if (task->moved < task->size) continue;
    state->end_position[index] = socket->moved_bytes;
    socket_pop(socket);
  }
}

int send_progress(struct comm *comm) {
  int result = comm->is_control_closed ? NET_SYSTEM : NET_OK;
  if (result == NET_OK && !comm->is_cutting && comm->active < comm->tail) {
    comm->is_cutting = may_begin(comm);
  }
  if (result == NET_OK && comm->is_cutting) {
    struct request *request = &comm->ring[comm->active % DEPTH];
    result = cut(comm, request);
    if (result == NET_OK && request->offset == request->size) {
      comm->active++;
      comm->is_cutting = false;
    }
    if (result == NET_OK) result = flush_control(comm);
  }
  for (int i = 0; i < comm->socket_count; i++) send_tasks(comm, i);
  return result;
}

bool send_is_complete(struct comm *comm, struct request *request) {
  struct request_state *state = state_of(request);
  if (state->unsent_bytes > 0) return false;
  for (int i = 0; i < comm->socket_count; i++) {
    int unacknowledged = 0;
    if (state->end_position[i] == 0) continue;
    struct data_socket *socket = &comm->sockets[i];
    if (socket->is_dead || ioctl(socket->fd, SIOCOUTQ, &unacknowledged) != 0) return false;
    if (socket->moved_bytes - (uint64_t)unacknowledged < state->end_position[i]) return false;
  }
  request->size_pending = 0;
  comm->traffic.tx_bytes += (uint64_t)request->size;
  comm->traffic.tx_packets += ((uint64_t)request->size + PAGE_BYTES - 1) / PAGE_BYTES;
  return true;
}
