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
  bool is_continued;  // the first part goes on in the page of the last entry
  uint32_t pages[BATCH_PAGES];
  struct iovec parts[BATCH_PAGES];  // in host memory: the page, or its mirror with CUDA
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

// Pages for the next bytes: of the socket's block with CUDA, else any of the pool.
static uint32_t take_pages(struct comm *comm, struct data_socket *socket, uint32_t *pages,
                           uint32_t wanted) {
  const struct block *block = &socket->block;
  if (!device_is_cuda()) return pool_take(comm->pool, pages, wanted);
  uint32_t begin = block->used - landing_is_continued(block);
  uint32_t count = block->count - begin < wanted ? block->count - begin : wanted;
  for (uint32_t i = 0; i < count; i++) pages[i] = block->first + block->order[begin + i];
  return count;
}

// Pages that stayed empty; those of a block stay with it.
static void leave_pages(struct comm *comm, const struct batch *batch, uint32_t used,
                        uint32_t count) {
  if (!device_is_cuda()) pool_return(comm->pool, batch->pages + used, count - used);
}

// Where the host reaches an offset of the bounce buffer.
static uint8_t *host_place(struct comm *comm, const struct data_socket *socket, uint32_t offset) {
  const struct block *block = &socket->block;
  if (!device_is_cuda()) return comm->pool->base + offset;
  return socket->stage.memory + (size_t)block->slot * STAGE_BYTES + offset -
         block->first * PAGE_BYTES;
}

// Chooses pages and how much of each is filled, for at most `bytes`; without pages an empty batch.
static void plan_batch(struct comm *comm, struct data_socket *socket, uint32_t bytes,
                       struct batch *batch) {
  bool is_random = settings.fragments == FRAGMENT_RANDOM;
  uint32_t wanted = is_random ? BATCH_PAGES : (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
  batch->is_continued = device_is_cuda() && landing_is_continued(&socket->block);
  wanted += batch->is_continued;
  if (wanted > BATCH_PAGES) wanted = BATCH_PAGES;
  uint32_t taken = take_pages(comm, socket, batch->pages, wanted);
  uint32_t planned = 0;
  for (batch->count = 0; batch->count < taken && planned < bytes; batch->count++) {
    uint32_t i = batch->count;
    uint32_t offset = i == 0 && batch->is_continued ? socket->block.page_bytes : 0;
    uint32_t length = is_random ? 1 + pool_random(comm->pool, PAGE_BYTES) : PAGE_BYTES - offset;
    if (length > bytes - planned) length = bytes - planned;
    if (is_random) offset = pool_random(comm->pool, PAGE_BYTES - length + 1);
    batch->page_offset[i] = batch->pages[i] * PAGE_BYTES + offset;
    batch->parts[i] = (struct iovec){host_place(comm, socket, batch->page_offset[i]), length};
    planned += length;
  }
  leave_pages(comm, batch, batch->count, taken);
}

static void add_entry(struct comm *comm, struct request *request, uint32_t socket, uint32_t page,
                      struct unpack_entry entry) {
  struct request_state *state = state_of(request);
  if (state->fragments == UNPACK_ENTRIES) {
    fatal("request too many pages: received %u/%d segs, failstop", state->fragments + 1,
          UNPACK_ENTRIES);
  }
  // Beyond the pool, and beyond everything that is mapped behind it.
  bool is_bad = fault_hits(FAULT_BAD_ENTRY, comm->nic->name, comm->messages);
  if (is_bad) entry.source_offset = 0xF0000000u;
  request->slot.entries[state->fragments++] = entry;
  state->pages[socket][state->page_count[socket]++] = page;
}

// Writes the scatter list of what arrived and gives back the pages that stayed empty.
static void record_batch(struct comm *comm, struct data_socket *socket, struct batch *batch,
                         uint32_t bytes) {
  struct task *task = &socket->tasks[socket->first];
  struct request *request = task->request;
  uint32_t socket_index = (uint32_t)(socket - comm->sockets);
  uint32_t used = 0;
  uint32_t described = 0;
  for (; described < bytes; used++) {
    uint32_t offset = batch->page_offset[used];
    uint32_t length = (uint32_t)batch->parts[used].iov_len;
    if (length > bytes - described) length = bytes - described;
    uint32_t place = task->message_offset + task->moved + described;
    bool is_new = used > 0 || !batch->is_continued;
    if (!is_new) request->slot.entries[socket->block.entry].length += length;
    else add_entry(comm, request, socket_index, batch->pages[used],
                   (struct unpack_entry){offset, length, place});
    if (device_is_cuda()) landing_add(request, &socket->block, is_new, offset, length);
    described += length;
  }
  leave_pages(comm, batch, used, batch->count);
  bool is_complete = task->moved + bytes == task->size;
  if (device_is_cuda()) landing_advance(comm, socket, request, is_complete);
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
  batch.count = 0;
  if (!device_is_cuda() || landing_open(comm, socket, bytes)) {
    plan_batch(comm, socket, bytes < (uint32_t)available ? bytes : (uint32_t)available, &batch);
  }
  if (batch.count == 0) {
    errno = EAGAIN;  // no page: the bytes stay in the socket and its window closes
    return -1;
  }
  struct msghdr message = {.msg_iov = batch.parts, .msg_iovlen = batch.count};
  ssize_t count = recvmsg(socket->fd, &message, MSG_DONTWAIT);
  if (count <= 0) {
    leave_pages(comm, &batch, 0, batch.count);
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
void receive_publish(struct request *request) {
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

// Pages of a block are rows of one fill, whatever their order. Later copies come behind it.
static void poison_blocks(struct comm *comm, const struct request_state *state) {
  size_t width = settings.poison == POISON_HEAD ? 64 : PAGE_BYTES;
  for (uint32_t i = 0; i < state->block_count; i++) {
    uint8_t *first = comm->pool->base + (size_t)state->blocks[i].first * PAGE_BYTES;
    device_fill_rows(comm->gpu, first, 0xDB, width, PAGE_BYTES, state->blocks[i].count);
  }
}

// Fragments that lie a page apart are rows of one fill.
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
  bool is_whole = device_is_cuda() && settings.fragments == FRAGMENT_PAGE;
  if (!is_whole) poison(comm, request);
  else if (settings.poison != POISON_OFF) poison_blocks(comm, state);
  for (int i = 0; i < SOCKETS_MAX; i++) {
    pool_return(comm->pool, state->pages[i], state->page_count[i]);
    state->page_count[i] = 0;
  }
}
