// How long a thread that waits looks before it sleeps. It yields its core in between; where that
// costs another thread's time slice, it does not look for a while that grows with every loss. The
// service has the same rule (src/os/spin-rest.ts).

#include <sched.h>
#include <time.h>

#include "internal.h"

enum { LOOK_NS = 50000, LOOKS_PER_CLOCK = 32 };
enum { YIELD_NS_MAX = 500 * 1000, REST_NS_MIN = 1000 * 1000, REST_NS_MAX = 500 * 1000000 };
enum { PEACE_PER_LOSS = 8 };

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static inline void pause_cpu(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  __asm__ volatile("yield");
#endif
}

static int64_t get(const int64_t *word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }
static void set(int64_t *word, int64_t value) { __atomic_store_n(word, value, __ATOMIC_RELAXED); }

int64_t next_rest_ns(int64_t rest_ns, int64_t sound_ns, int64_t yield_ns) {
  if (yield_ns <= YIELD_NS_MAX) return 0;
  int64_t peace_ns = PEACE_PER_LOSS * yield_ns < rest_ns ? PEACE_PER_LOSS * yield_ns : rest_ns;
  if (sound_ns >= peace_ns) return REST_NS_MIN;
  return rest_ns * 2 < REST_NS_MAX ? rest_ns * 2 : REST_NS_MAX;
}

// The threads of a session share what they learn; that one may overwrite another's does no harm.
static void note_yield(struct look_rest *rest, int64_t since, int64_t before, int64_t now) {
  int64_t next = next_rest_ns(get(&rest->rest_ns), get(&rest->sound_ns), now - before);
  set(&rest->sound_ns, next == 0 ? get(&rest->sound_ns) + now - since : 0);
  if (next == 0) return;
  set(&rest->rest_ns, next);
  set(&rest->until_ns, now + next);
}

bool look(struct look_rest *rest, bool (*is_ready)(void *), void *what) {
  int64_t now = now_ns(), end = now + LOOK_NS;
  while (now < end && now >= get(&rest->until_ns)) {
    for (int i = 0; i < LOOKS_PER_CLOCK; i++) {
      if (is_ready(what)) return true;
      pause_cpu();
    }
    int64_t since = now, before = now_ns();
    sched_yield();
    now = now_ns();
    note_yield(rest, since, before, now);
  }
  return false;
}
