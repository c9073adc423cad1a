// Many posts of one request, timed: `repeat REQUEST COUNT` says median, 99th part and total in µs.
// `repeat REQUEST COUNT poll` asks without a pause instead of waiting, and `stare MS` asks for
// notifications so for so long, as programs with a core to themselves do.
// `rest REST SOUND YIELD` says how long the library does not look after such a yield, all in ns.
// `flood COUNT [MS]` posts every request that is prepared, again whenever it has finished, so often
// or for so long: it says how many were posted, or with MS how many had finished by then.
// `crowd FOLDER COUNT` opens so many sessions at once and says how many were attached.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"

static double now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int compare(const void *left, const void *right) {
  double difference = *(const double *)left - *(const double *)right;
  return (difference > 0) - (difference < 0);
}

static tcpx_status poll_until_done(tcpx_request *request) {
  tcpx_status status = tcpx_test(request);
  while (status == TCPX_IN_PROGRESS) status = tcpx_test(request);
  return status;
}

static void stare(double limit_us) {
  char name[256], message[256];
  tcpx_status status = TCPX_IN_PROGRESS;
  size_t looks = 0;
  for (double begin = now_us(); now_us() - begin < limit_us && status == TCPX_IN_PROGRESS; looks++) {
    size_t name_size = sizeof name, size = sizeof message;
    status = tcpx_next_notification(session, name, &name_size, message, &size);
  }
  reply(status < 0 ? status : TCPX_OK, "%zu", looks);
}

static void repeat(tcpx_request *request, size_t count, bool is_polled) {
  double *times = calloc(count, sizeof *times), begin = now_us();
  tcpx_status status = TCPX_OK;
  for (size_t i = 0; i < count && status == TCPX_OK; i++) {
    double posted = now_us();
    status = tcpx_post(request, NULL);
    if (status == TCPX_OK) {
      status = is_polled ? poll_until_done(request) : tcpx_wait(request, 60000);
    }
    times[i] = now_us() - posted;
  }
  double total = now_us() - begin;
  qsort(times, count, sizeof *times, compare);
  reply(status, "%.2f %.2f %.1f", times[count / 2], times[count - 1 - count / 100], total);
  free(times);
}

static void flood(size_t count, double limit_us) {
  tcpx_status status = TCPX_OK;
  size_t posted = 0, finished = 0;
  double begin = now_us();
  while (finished < count && status >= 0 && now_us() - begin < limit_us) {
    bool has_moved = false;
    for (tcpx_request *one = session->requests; one != NULL && status >= 0; one = one->next) {
      status = one->posts == 0 ? TCPX_OK : tcpx_test(one);
      if (status != TCPX_OK) continue;
      has_moved = true;
      finished += one->posts != 0;
      if (posted < count) status = tcpx_post(one, NULL), posted += status == TCPX_OK;
    }
    if (!has_moved && status >= 0) status = tcpx_wait_event(session, 20000);
    if (posted == count) break;
  }
  double total = now_us() - begin;
  // What is left in flight is waited for, each once.
  for (tcpx_request *one = session->requests; one != NULL; one = one->next) {
    if (status >= 0 && one->posts > 0) status = tcpx_wait(one, 20000);
  }
  if (posted == count) finished = posted, total = now_us() - begin;
  reply(status > 0 ? TCPX_OK : status, "%zu %.1f", finished, total);
}

static void crowd(const char *folder, size_t count) {
  tcpx_session **sessions = calloc(count, sizeof *sessions);
  size_t attached = 0, refused = 0;
  for (size_t i = 0; i < count; i++) {
    char name[32];
    snprintf(name, sizeof name, "crowd-%zu", i);
    tcpx_status status = tcpx_open(folder, name, NULL, &sessions[i]);
    attached += status == TCPX_OK;
    refused += status == TCPX_ERR_LIMIT;
  }
  for (size_t i = 0; i < count; i++) tcpx_close(sessions[i]);
  free(sessions);
  reply(TCPX_OK, "%zu %zu", attached, refused);
}

bool measure(int count, char **words) {
  if (strcmp(words[0], "crowd") == 0 && count > 2) {
    return crowd(words[1], strtoul(words[2], NULL, 10)), true;
  }
  if (strcmp(words[0], "flood") == 0 && count > 1) {
    double limit_us = count > 2 ? 1e3 * strtod(words[2], NULL) : 1e12;
    return flood(strtoul(words[1], NULL, 10), limit_us), true;
  }
  if (strcmp(words[0], "stare") == 0 && count > 1) {
    return stare(1e3 * strtod(words[1], NULL)), true;
  }
  if (strcmp(words[0], "rest") == 0 && count > 3) {
    int64_t rest = next_rest_ns(atoll(words[1]), atoll(words[2]), atoll(words[3]));
    return reply(TCPX_OK, "%lld", (long long)rest), true;
  }
  if (strcmp(words[0], "repeat") != 0 || count < 3) return false;
  uint32_t index = (uint32_t)strtoul(words[1], NULL, 10);
  for (tcpx_request *one = session->requests; one != NULL; one = one->next) {
    if (one->index == index) return repeat(one, strtoul(words[2], NULL, 10), count > 3), true;
  }
  return false;
}
