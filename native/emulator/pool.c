// The bounce buffer of a GPU: pages of 4 KiB, handed out in random order, one pool per GPU and
// process. Pages come back only when a receive is consumed or its comm is closed.

#include <stdlib.h>

#include "emulator.h"

enum { TAKEN = -1 };

static struct pool *pools[GPUS_MAX];
static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;

static struct pool *create_pool(int gpu) {
  struct pool *pool = calloc(1, sizeof *pool);
  if (pool == NULL) fatal("no memory for a pool");
  pool->gpu = gpu;
  pool->page_count = (uint32_t)(settings.bounce_bytes / PAGE_BYTES);
  pool->free_count = pool->page_count;
  pool->base = device_alloc(gpu, settings.bounce_bytes);
  pool->free_pages = malloc(pool->page_count * sizeof *pool->free_pages);
  if (pool->free_pages == NULL) fatal("no memory for %u pages", pool->page_count);
  pool->places = malloc(pool->page_count * sizeof *pool->places);
  if (pool->places == NULL) fatal("no memory for %u pages", pool->page_count);
  for (uint32_t i = 0; i < pool->page_count; i++) pool->free_pages[i] = pool->places[i] = i;
  // Never 0, which the generator would not leave.
  pool->random = (settings.seed + 1) * 0x9E3779B97F4A7C15ULL ^ ((uint64_t)gpu << 32) ^ 1;
  if (pool->random == 0) pool->random = 1;
  pthread_mutex_init(&pool->lock, NULL);
  INFO("rxmem ready: gpu %d, %u pages", gpu, pool->page_count);
  return pool;
}

struct pool *pool_of_gpu(int gpu) {
  pthread_mutex_lock(&pools_lock);
  if (pools[gpu] == NULL) pools[gpu] = create_pool(gpu);
  struct pool *pool = pools[gpu];
  pthread_mutex_unlock(&pools_lock);
  return pool;
}

static uint64_t next_random(struct pool *pool) {
  uint64_t x = pool->random;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  pool->random = x;
  return x;
}

uint32_t pool_random(struct pool *pool, uint32_t limit) {
  pthread_mutex_lock(&pool->lock);
  uint32_t value = (uint32_t)((next_random(pool) >> 16) % limit);
  pthread_mutex_unlock(&pool->lock);
  return value;
}

static void take_page(struct pool *pool, uint32_t page) {
  uint32_t last = pool->free_pages[--pool->free_count];
  pool->free_pages[pool->places[page]] = last;
  pool->places[last] = pool->places[page];
  pool->places[page] = (uint32_t)TAKEN;
}

// Pages of a scatter list that lie behind each other, at most.
uint32_t page_run(void) {
  if (settings.page_run > 0) return settings.page_run;
  return device_is_cuda() ? PAGE_RUN_CUDA : 1;
}

// Takes up to `count` pages; fewer, or none, when the pool runs dry.
uint32_t pool_take(struct pool *pool, uint32_t *pages, uint32_t count) {
  pthread_mutex_lock(&pool->lock);
  if (count > pool->free_count) count = pool->free_count;
  for (uint32_t taken = 0; taken < count;) {
    uint32_t chosen = (uint32_t)((next_random(pool) >> 16) % pool->free_count);
    uint32_t page = pool->free_pages[chosen];
    for (uint32_t i = 0; i < page_run() && taken < count; i++, page++) {
      if (page >= pool->page_count || pool->places[page] == (uint32_t)TAKEN) break;
      take_page(pool, page);
      pages[taken++] = page;
    }
  }
  pthread_mutex_unlock(&pool->lock);
  return count;
}

static uint32_t free_run(const struct pool *pool, uint32_t page, uint32_t count) {
  uint32_t run = 0;
  while (run < count && page + run < pool->page_count &&
         pool->places[page + run] != (uint32_t)TAKEN) {
    run++;
  }
  return run;
}

// Takes up to `count` pages that lie behind each other, at a random place; 0 when the pool is dry.
// Places are multiples of `count` where those are free, so that whole blocks stay together.
uint32_t pool_take_block(struct pool *pool, uint32_t *first, uint32_t count) {
  uint32_t longest = 0;
  pthread_mutex_lock(&pool->lock);
  for (int tries = 0; tries < 8 && longest < count && pool->free_count > 0; tries++) {
    uint32_t page = pool->free_pages[(next_random(pool) >> 16) % pool->free_count];
    const uint32_t begins[] = {page - page % count, page};
    for (int i = 0; i < 2 && longest < count; i++) {
      uint32_t run = free_run(pool, begins[i], count);
      if (run <= longest) continue;
      longest = run;
      *first = begins[i];
    }
  }
  for (uint32_t i = 0; i < longest; i++) take_page(pool, *first + i);
  pthread_mutex_unlock(&pool->lock);
  return longest;
}

void pool_return(struct pool *pool, const uint32_t *pages, uint32_t count) {
  pthread_mutex_lock(&pool->lock);
  for (uint32_t i = 0; i < count; i++) {
    pool->places[pages[i]] = pool->free_count;
    pool->free_pages[pool->free_count++] = pages[i];
  }
  pthread_mutex_unlock(&pool->lock);
}

static long count_pages(int gpu, bool only_free) {
  if (gpu < 0 || gpu >= GPUS_MAX) return -1;
  pthread_mutex_lock(&pools_lock);
  struct pool *pool = pools[gpu];
  pthread_mutex_unlock(&pools_lock);
  if (pool == NULL) return -1;
  pthread_mutex_lock(&pool->lock);
  long count = only_free ? pool->free_count : pool->page_count;
  pthread_mutex_unlock(&pool->lock);
  return count;
}

// For tests: pages of the pool, and those that are free; −1 without a pool.
__attribute__((visibility("default"))) long tcpx_emu_pages(int gpu) {
  return count_pages(gpu, false);
}

__attribute__((visibility("default"))) long tcpx_emu_free_pages(int gpu) {
  return count_pages(gpu, true);
}
