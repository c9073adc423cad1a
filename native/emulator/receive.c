// The receiving side: records say which socket carries the next chunk; its bytes land in random
// pages of the bounce buffer, described by the scatter list. Host receives bypass both.

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "emulator.h"

struct batch {
  uint32_t count;
  uint32_t pages[BATCH_PAGES];
  struct iovec parts[BATCH_PAGES];  // in host memory: the page, or the stage with CUDA
  uint32_t page_offset[BATCH_PAGES];
};

static void refill_control(struct comm *comm) {
  if (comm->control_in_begin > 0) {
    comm->control_in_end -= comm->control_in_begin;
    memmove(comm->control_in, comm->control_in + comm->control_in_begin, comm->control_in_end);
    comm->control_in_begin = 0;
  }
  ssize_t count = recv(comm->control_fd, comm->control_in + comm->control_in_end,
                       sizeof comm->control_in - comm->control_in_end, MSG_DONTWAIT);
  if (count == 0) comm->is_control_closed = true;
  if (count < 0 && errno != EAGAIN && errno != EINTR) comm->is_control_closed = true;
  if (count <= 0) return;
  comm->control_in_end += (uint32_t)count;
  comm->progress_ns = now_ns();
}

// The next whole record, with the inline bytes behind it where it has some; NULL when not there.
static const struct record *peek_record(struct comm *comm, struct record *record) {
  for (int tries = 0; tries < 2; tries++) {
    uint32_t bytes = comm->control_in_end - comm->control_in_begin;
    if (bytes >= sizeof *record) {
      memcpy(record, comm->control_in + comm->control_in_begin, sizeof *record);
      uint32_t behind = record->type == RECORD_INLINE ? record->size : 0;
      if (bytes >= sizeof *record + behind || behind > 2048) return record;
    }
    if (tries == 0) refill_control(comm);
  }
  return NULL;
}

static void assign_slot(struct comm *comm, struct request *request, uint32_t total) {
  if (comm->meta == NULL) {
    WARN("no unpack queue: accept was called without a device handle");
    volatile struct unpack_meta *missing = comm->meta;
    missing->counts[0] = 0;  // the original dereferences null here
  }
  request->size = request->size_pending = (int32_t)total;
  request->slot.active = true;
  request->slot.index = comm->unpack_tail++ % UNPACK_SLOTS;
  request->slot.entries = comm->meta->entries[request->slot.index];
  request->slot.count = &comm->meta->counts[request->slot.index];
}

static void take_inline(struct comm *comm, struct request *request, const struct record *record) {
  const uint8_t *bytes = comm->control_in + comm->control_in_begin;
  uint32_t posted = state_of(request)->posted_bytes;
  uint32_t size = record->size < posted ? record->size : posted;
  if (size > 0) memcpy(request->data, bytes, size);
  comm->control_in_begin += record->size;
  request->offset = request->size;
  request->size_pending = 0;
}

static int take_record(struct comm *comm, struct request *request, const struct record *record) {
  bool is_inline = record->type == RECORD_INLINE;
  bool is_good = is_inline ? record->size <= 2048 : record->socket < comm->socket_count;
  if (!is_good || (uint64_t)request->offset + record->size > record->total) {
    WARN("invalid control record: type %u socket %u size %u total %u", record->type,
         record->socket, record->size, record->total);
    return NET_INTERNAL;
  }
  if (request->size_pending == -1) assign_slot(comm, request, record->total);
  struct data_socket *socket = &comm->sockets[record->socket];
  if (!is_inline && socket->count == TASKS_MAX) return NET_OK;  // it stays in the buffer
  comm->control_in_begin += sizeof *record;
  if (is_inline) {
    take_inline(comm, request, record);
    return NET_OK;
  }
  // The original forgets the tokens of an earlier chunk of this request on the same socket.
  if (settings.token_leak) state_of(request)->page_count[record->socket] = 0;
  socket_push(socket, request, record->size);
  request->offset += (int32_t)record->size;
  return NET_OK;
}

static int read_records(struct comm *comm) {
  if (!comm->is_cutting && comm->active < comm->tail) {
    uint32_t index = (uint32_t)(comm->active % DEPTH);
    comm->is_cutting = true;
    if (settings.recv_sync) send(comm->control_fd, &index, sizeof index, MSG_NOSIGNAL);
  }
  while (comm->is_cutting) {
    struct request *request = &comm->ring[comm->active % DEPTH];
    struct record record;
    if (peek_record(comm, &record) == NULL) return NET_OK;
    uint32_t begin = comm->control_in_begin;
    int result = take_record(comm, request, &record);
    if (result != NET_OK) return result;
    if (comm->control_in_begin == begin) return NET_OK;
    if (request->size_pending == -1 || request->offset < request->size) continue;
    comm->active++;
    comm->is_cutting = false;
  }
  return NET_OK;
}

static void die_as_original(struct comm *comm, uint32_t bytes) {
  const char *nic = comm->nic->name;
  bool is_off_path = comm->is_same_host && !settings.same_host_allowed;
  if (is_off_path || comm->is_gpu_unbound || fault_hits(FAULT_NO_CMSG, nic, comm->messages)) {
    fatal("fatal, %s no cmsg", comm->flow);
  }
  if (fault_hits(FAULT_HEADER_LANDING, nic, comm->messages)) {
    fatal("fatal, %s data landed on host memory 1 times", comm->flow);
  }
  if (fault_hits(FAULT_CMSG_TRUNCATED, nic, comm->messages)) fatal("fatal, cmsg truncated");
  if (fault_hits(FAULT_BYTES_MISMATCH, nic, comm->messages)) {
    fatal("%s cmsg total bytes %u, expected %u", comm->flow, bytes - 1, bytes);
  }
  if (fault_hits(FAULT_TOO_MANY_FRAGMENTS, nic, comm->messages)) {
    fatal("request too many pages: received %d/%d segs, failstop", UNPACK_ENTRIES + 1,
          UNPACK_ENTRIES);
  }
}

// Chooses pages and how much of each is filled, for at most `bytes`; without pages an empty batch.
static void plan_batch(struct comm *comm, uint8_t *stage, uint32_t bytes, struct batch *batch) {
  struct pool *pool = comm->pool;
  bool is_random = settings.fragments == FRAGMENT_RANDOM;
  uint32_t wanted = is_random ? BATCH_PAGES : (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
  if (wanted > BATCH_PAGES) wanted = BATCH_PAGES;
  uint32_t taken = pool_take(pool, batch->pages, wanted);
  uint32_t planned = 0;
  for (batch->count = 0; batch->count < taken && planned < bytes; batch->count++) {
    uint32_t i = batch->count;
    uint32_t length = is_random ? 1 + pool_random(pool, PAGE_BYTES) : PAGE_BYTES;
    if (length > bytes - planned) length = bytes - planned;
    uint32_t offset = is_random ? pool_random(pool, PAGE_BYTES - length + 1) : 0;
    batch->page_offset[i] = batch->pages[i] * PAGE_BYTES + offset;
    uint8_t *place = device_is_cuda() ? stage + planned : pool->base + batch->page_offset[i];
    batch->parts[i] = (struct iovec){place, length};
    planned += length;
  }
  pool_return(pool, batch->pages + batch->count, taken - batch->count);
}

// From the stage to the GPU: pages that lie behind each other are one copy.
static void copy_batch(struct comm *comm, const struct batch *batch, uint32_t bytes) {
  struct device_copy copies[BATCH_PAGES];
  size_t count = 0;
  for (uint32_t i = 0, moved = 0; moved < bytes; i++) {
    uint8_t *target = comm->pool->base + batch->page_offset[i];
    uint32_t length = (uint32_t)batch->parts[i].iov_len;
    if (length > bytes - moved) length = bytes - moved;
    moved += length;
    struct device_copy *last = count == 0 ? NULL : &copies[count - 1];
    if (last != NULL && (uint8_t *)last->target + last->bytes == target) last->bytes += length;
    else copies[count++] = (struct device_copy){target, batch->parts[i].iov_base, length};
  }
  device_write_all(comm->gpu, copies, count);
  comm->has_copies = true;
}

// The next part of a socket's stage. Before the first is filled again all copies from it are over.
static uint8_t *next_stage(struct comm *comm, struct data_socket *socket) {
  if (!device_is_cuda()) return NULL;
  if (socket->stage == NULL) socket->stage = pinned_alloc(comm->gpu, STAGES * STAGE_BYTES, NULL);
  if (socket->next_stage == STAGES) {
    socket->next_stage = 0;
    device_sync(comm->gpu);
  }
  return socket->stage + socket->next_stage++ * STAGE_BYTES;
}

// Writes the scatter list of what arrived and gives back the pages that stayed empty.
static void record_batch(struct comm *comm, struct data_socket *socket, struct batch *batch,
                         uint32_t bytes) {
  struct task *task = &socket->tasks[socket->first];
  struct request *request = task->request;
  struct request_state *state = state_of(request);
  uint32_t socket_index = (uint32_t)(socket - comm->sockets);
  uint32_t used = 0;
  uint32_t described = 0;
  for (; described < bytes; used++) {
    uint32_t length = (uint32_t)batch->parts[used].iov_len;
    if (length > bytes - described) length = bytes - described;
    if (state->fragments == UNPACK_ENTRIES) {
      fatal("request too many pages: received %u/%d segs, failstop", state->fragments + 1,
            UNPACK_ENTRIES);
    }
    request->slot.entries[state->fragments++] = (struct unpack_entry){
        batch->page_offset[used], length, task->message_offset + task->moved + described};
    if (fault_hits(FAULT_BAD_ENTRY, comm->nic->name, comm->messages)) {
      // Beyond the pool, and beyond everything that is mapped behind it.
      request->slot.entries[state->fragments - 1].source_offset = 0xF0000000u;
    }
    state->pages[socket_index][state->page_count[socket_index]++] = batch->pages[used];
    described += length;
  }
  if (device_is_cuda()) copy_batch(comm, batch, bytes);
  pool_return(comm->pool, batch->pages + used, batch->count - used);
  if (fault_hits(FAULT_UNCOUNTED, comm->nic->name, comm->messages)) return;
  comm->traffic.devmem_packets += used;
  comm->traffic.devmem_bytes += bytes;
}

// Nothing to read: 0 when the peer has closed, else −1 with EAGAIN; bytes that came now wait.
static ssize_t probe_end(int fd) {
  uint8_t byte;
  ssize_t count = recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
  if (count > 0) errno = EAGAIN;
  return count > 0 ? -1 : count;
}

static ssize_t receive_device(struct comm *comm, struct data_socket *socket, uint32_t bytes) {
  struct batch batch;
  int available = 0;
  if (ioctl(socket->fd, FIONREAD, &available) != 0) return -1;
  if (available == 0) return probe_end(socket->fd);
  die_as_original(comm, bytes);
  uint8_t *stage = next_stage(comm, socket);
  plan_batch(comm, stage, bytes < (uint32_t)available ? bytes : (uint32_t)available, &batch);
  if (batch.count == 0) {
    errno = EAGAIN;  // no page: the bytes stay in the socket and its window closes
    return -1;
  }
  struct msghdr message = {.msg_iov = batch.parts, .msg_iovlen = batch.count};
  ssize_t count = recvmsg(socket->fd, &message, MSG_DONTWAIT);
  if (count <= 0) {
    pool_return(comm->pool, batch.pages, batch.count);
    return count;
  }
  record_batch(comm, socket, &batch, (uint32_t)count);
  return count;
}

// The original does not bound a host receive and overruns the buffer; here the rest is dropped.
static ssize_t receive_host(struct comm *comm, struct data_socket *socket, struct task *task) {
  struct request_state *state = state_of(task->request);
  uint8_t dropped[4096];
  if (!state->warned_host) {
    WARN("%s requested receive on host mem buffer", comm->flow);
    state->warned_host = true;
  }
  uint32_t begin = task->message_offset + task->moved;
  uint32_t bytes = task->size - task->moved;
  uint32_t room = begin < state->posted_bytes ? state->posted_bytes - begin : 0;
  if (room == 0) {
    return recv(socket->fd, dropped, bytes < sizeof dropped ? bytes : sizeof dropped,
                MSG_DONTWAIT);
  }
  return recv(socket->fd, task->request->data + begin, bytes < room ? bytes : room, MSG_DONTWAIT);
}

static void receive_tasks(struct comm *comm, int index) {
  struct data_socket *socket = &comm->sockets[index];
  while (socket->count > 0 && !socket->is_dead) {
    struct task *task = &socket->tasks[socket->first];
    struct request *request = task->request;
    ssize_t count = request->mem_type == PTR_CUDA
                        ? receive_device(comm, socket, task->size - task->moved)
                        : receive_host(comm, socket, task);
    if (count < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOBUFS)) return;
    if (count <= 0) {
      socket_die(comm, index, "recv(1)", count == 0 ? 0 : errno);
      return;
    }
    task->moved += (uint32_t)count;
    socket->moved_bytes += (uint64_t)count;
    request->size_pending -= (int32_t)count;
    comm->progress_ns = now_ns();
    comm->traffic.rx_bytes += (uint64_t)count;
    comm->traffic.rx_packets += ((uint64_t)count + PAGE_BYTES - 1) / PAGE_BYTES;
    if (task->moved < task->size) return;
    socket_pop(socket);
  }
}

int receive_progress(struct comm *comm) {
  int result = read_records(comm);
  for (int i = 0; i < comm->socket_count; i++) receive_tasks(comm, i);
  bool is_waiting = comm->active < comm->tail;
  if (result == NET_OK && comm->is_control_closed && is_waiting) return NET_SYSTEM;
  return result;
}

// The count is written last, and only now: a reader that sees it sees the entries.
void receive_publish(struct comm *comm, struct request *request) {
  if (comm->has_copies) device_sync(comm->gpu);
  comm->has_copies = false;
  request->slot.count_cache = state_of(request)->fragments;
  atomic_thread_fence(memory_order_release);
  *(volatile uint64_t *)request->slot.count = state_of(request)->fragments;
  atomic_thread_fence(memory_order_seq_cst);
}

// What is poisoned of a fragment; 0 for one that lies outside the pool.
static uint32_t poisoned_bytes(const struct unpack_entry *entry) {
  if ((uint64_t)entry->source_offset + entry->length > settings.bounce_bytes) return 0;
  bool is_head = settings.poison == POISON_HEAD && entry->length > 64;
  return is_head ? 64 : entry->length;
}

// Fragments that lie a page apart are rows of one fill. Later copies to these pages come behind it
// in the stream.
static void poison(struct comm *comm, struct request *request) {
  uint32_t fragments = state_of(request)->fragments;
  const struct unpack_entry *entries = request->slot.entries;
  for (uint32_t i = 0; i < fragments && settings.poison != POISON_OFF;) {
    uint32_t bytes = poisoned_bytes(&entries[i]);
    uint32_t rows = 1;
    while (i + rows < fragments && poisoned_bytes(&entries[i + rows]) == bytes &&
           entries[i + rows].source_offset == entries[i].source_offset + rows * PAGE_BYTES) {
      rows++;
    }
    uint8_t *first = comm->pool->base + entries[i].source_offset;
    if (bytes > 0) device_fill_rows(comm->gpu, first, 0xDB, bytes, PAGE_BYTES, rows);
    i += rows;
  }
}

void receive_recycle(struct comm *comm, struct request *request) {
  struct request_state *state = state_of(request);
  poison(comm, request);
  for (int i = 0; i < SOCKETS_MAX; i++) {
    pool_return(comm->pool, state->pages[i], state->page_count[i]);
    state->page_count[i] = 0;
  }
}
