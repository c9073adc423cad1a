// What a socket receives into GPU memory: a block of bounce pages behind each other, mirrored by a
// slot of pinned memory. Bytes are received into the mirror, page by page in an order of its own,
// and one copy carries the block to the GPU when it is full or its chunk is complete.

#include "emulator.h"

// Runs of pages stay together; their order is random.
static void shuffle(struct pool *pool, struct block *block) {
  uint32_t run = page_run();
  uint32_t runs = (block->count + run - 1) / run;
  uint8_t order[BATCH_PAGES];
  uint32_t filled = 0;
  for (uint32_t i = 0; i < runs; i++) order[i] = (uint8_t)i;
  for (uint32_t i = runs; i > 1; i--) {
    uint32_t other = pool_random(pool, i);
    uint8_t last = order[i - 1];
    order[i - 1] = order[other];
    order[other] = last;
  }
  for (uint32_t i = 0; i < runs; i++) {
    for (uint32_t page = order[i] * run; page < (order[i] + 1) * run && page < block->count; page++) {
      block->order[filled++] = (uint8_t)page;
    }
  }
}

// Whether there is a block for up to `bytes` more: false while pages are short, or while every slot
// is being copied.
bool landing_open(struct comm *comm, struct data_socket *socket, uint32_t bytes) {
  struct block *block = &socket->block;
  struct stage *stage = &socket->stage;
  uint32_t slot = stage->next;
  if (block->is_open) return true;
  if (stage->memory == NULL) stage->memory = pinned_alloc(comm->gpu, STAGES * STAGE_BYTES, NULL);
  bool is_busy = stage->slots[slot].is_used &&
                 !device_is_done(comm->gpu, TO_GPU, stage->slots[slot].copy_number);
  if (is_busy) return false;
  bool is_random = settings.fragments == FRAGMENT_RANDOM;
  uint32_t wanted = is_random ? BATCH_PAGES : (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
  if (wanted > BATCH_PAGES) wanted = BATCH_PAGES;
  block->count = pool_take_block(comm->pool, &block->first, wanted);
  if (block->count == 0) return false;
  block->is_open = true;
  block->used = 0;
  block->slot = slot;
  stage->next = (slot + 1) % STAGES;
  shuffle(comm->pool, block);
  return true;
}

// Pages that were not used; what is copied over them meanwhile is ahead of their next owner's copy.
static void return_rest(struct comm *comm, struct block *block) {
  uint32_t rest[BATCH_PAGES];
  uint32_t count = 0;
  for (uint32_t i = block->used; i < block->count; i++) {
    rest[count++] = block->first + block->order[i];
  }
  pool_return(comm->pool, rest, count);
}

static void close_block(struct comm *comm, struct data_socket *socket, struct request *request) {
  struct block *block = &socket->block;
  struct stage *stage = &socket->stage;
  struct request_state *state = state_of(request);
  uint32_t extent = 0;
  for (uint32_t i = 0; i < block->used; i++) {
    if (block->order[i] >= extent) extent = block->order[i] + 1u;
  }
  uint8_t *target = comm->pool->base + (size_t)block->first * PAGE_BYTES;
  uint8_t *source = stage->memory + (size_t)block->slot * STAGE_BYTES;
  state->copy_number =
      device_copy_later(comm->gpu, TO_GPU, target, source, (size_t)extent * PAGE_BYTES);
  state->has_copies = true;
  state->blocks[state->block_count].first = block->first;
  state->blocks[state->block_count++].count = block->count;
  stage->slots[block->slot].copy_number = state->copy_number;
  stage->slots[block->slot].is_used = true;
  return_rest(comm, block);
  block->is_open = false;
}

// Whether the last page that was begun has room for what comes next.
bool landing_is_continued(const struct block *block) {
  return block->used > 0 && block->page_bytes < PAGE_BYTES;
}

// Bytes were received at `offset` of the bounce buffer; the request's last entry describes them
// where they began a page. A fragment of random length has its page for itself.
void landing_add(struct request *request, struct block *block, bool is_new, uint32_t offset,
                 uint32_t length) {
  if (is_new) {
    block->used++;
    block->entry = state_of(request)->fragments - 1;
  }
  bool is_random = settings.fragments == FRAGMENT_RANDOM;
  block->page_bytes = is_random ? PAGE_BYTES : offset % PAGE_BYTES + length;
}

// A block that is full, or the last of its chunk, goes to the GPU.
void landing_advance(struct comm *comm, struct data_socket *socket, struct request *request,
                     bool is_complete) {
  const struct block *block = &socket->block;
  bool is_full = block->used == block->count && block->page_bytes == PAGE_BYTES;
  if (is_full || is_complete) close_block(comm, socket, request);
}

// At the end of a comm: what was used belongs to its request.
void landing_drop(struct comm *comm, struct data_socket *socket) {
  if (!socket->block.is_open) return;
  return_rest(comm, &socket->block);
  socket->block.is_open = false;
}

// Whether all that a request received has reached the GPU.
bool landing_is_over(struct request *request) {
  const struct request_state *state = state_of(request);
  return !state->has_copies || device_is_done(request->comm->gpu, TO_GPU, state->copy_number);
}
