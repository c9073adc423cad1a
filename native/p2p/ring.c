// The command ring, written; the event ring, read. Records are [bytes][kind][payload], padded to
// eight bytes and never split; one that would not fit before the end is preceded by a filler.

#include <string.h>
#include <sys/socket.h>

#include "internal.h"

enum { FILLER = 0, HEADER_BYTES = 8 };

static size_t aligned(size_t bytes) { return (bytes + 7) & ~(size_t)7; }

static void write_header(uint8_t *at, size_t bytes, int kind) {
  int32_t words[2] = {(int32_t)bytes, kind};
  memcpy(at, words, sizeof words);
}

// A bell that is full has woken the service already.
void wake_service(const tcpx_session *session) {
  if (send(session->bell, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return;
}

tcpx_status put_command(tcpx_session *session, int kind, const struct part *parts, size_t count) {
  size_t payload = 0;
  for (size_t i = 0; i < count; i++) payload += parts[i].bytes;
  size_t bytes = aligned(HEADER_BYTES + payload);
  struct ring_block *ring = (void *)(session->mapping + session->facts.commands_at);
  uint8_t *data = (uint8_t *)(ring + 1);
  pthread_mutex_lock(&session->ring_lock);
  uint32_t tail = session->command_tail;
  size_t position = tail & (COMMAND_RING_DATA_BYTES - 1);
  size_t until_end = COMMAND_RING_DATA_BYTES - position;
  size_t filler = until_end < bytes ? until_end : 0;
  size_t used = tail - (uint32_t)load(&ring->head);
  if (used + filler + bytes > COMMAND_RING_DATA_BYTES) {
    pthread_mutex_unlock(&session->ring_lock);
    tcpx_status alive = check_service(session);
    return alive != TCPX_OK ? alive
                            : fail(TCPX_ERR_FULL, "the ring has no room for %zu bytes", bytes);
  }
  if (filler > 0) write_header(data + position, filler, FILLER);
  uint8_t *at = filler > 0 ? data : data + position;
  write_header(at, bytes, kind);
  at += HEADER_BYTES;
  for (size_t i = 0; i < count; i++) {
    if (parts[i].bytes > 0) memcpy(at, parts[i].data, parts[i].bytes);
    at += parts[i].bytes;
  }
  session->command_tail = tail + (uint32_t)(filler + bytes);
  __atomic_store_n(&ring->tail, (int32_t)session->command_tail, __ATOMIC_SEQ_CST);
  pthread_mutex_unlock(&session->ring_lock);
  // The service looks once more after it has said that it sleeps: one of both sees the other.
  if (__atomic_exchange_n(&client_block(session)->service_sleeps, 0, __ATOMIC_SEQ_CST) == 1) {
    wake_service(session);
  }
  return TCPX_OK;
}

tcpx_status tcpx_next_notification(tcpx_session *session, char *name, size_t *name_size,
                                   void *message, size_t *message_size) {
  tcpx_status status = check_session(session);
  if (status == TCPX_ERR_FORKED || status == TCPX_ERR_ARGUMENT) return status;
  if (name_size == NULL || message_size == NULL) {
    return fail(TCPX_ERR_ARGUMENT, "next notification: sizes are needed");
  }
  struct ring_block *ring = (void *)(session->mapping + session->facts.events_at);
  uint8_t *data = (uint8_t *)(ring + 1);
  pthread_mutex_lock(&session->ring_lock);
  uint32_t head = session->event_head;
  int32_t words[2] = {0, FILLER};
  uint8_t *at = NULL;
  while (head != (uint32_t)load(&ring->tail)) {
    at = data + (head & (EVENT_RING_DATA_BYTES - 1));
    memcpy(words, at, sizeof words);
    if (words[1] != FILLER) break;
    head += (uint32_t)words[0];
    at = NULL;
  }
  if (at == NULL) {
    pthread_mutex_unlock(&session->ring_lock);
    return status != TCPX_OK ? status : TCPX_IN_PROGRESS;
  }
  struct notification_record record;
  memcpy(&record, at + HEADER_BYTES, sizeof record);
  size_t name_bytes = (size_t)record.name_bytes, bytes = (size_t)record.bytes;
  bool has_room = name_bytes + 1 <= *name_size && bytes <= *message_size;
  *name_size = name_bytes + 1;
  *message_size = bytes;
  if (has_room) {
    at += HEADER_BYTES + sizeof record;
    memcpy(name, at, name_bytes);
    name[name_bytes] = '\0';
    if (bytes > 0) memcpy(message, at + name_bytes, bytes);
    session->event_head = head + (uint32_t)words[0];
    __atomic_store_n(&ring->head, (int32_t)session->event_head, __ATOMIC_SEQ_CST);
  }
  pthread_mutex_unlock(&session->ring_lock);
  return has_room ? TCPX_OK : fail(TCPX_ERR_ARGUMENT, "next notification: a buffer is too small");
}

tcpx_status tcpx_notify(tcpx_session *session, uint32_t peer, const void *message, size_t bytes) {
  tcpx_status status = check_session(session);
  if (status != TCPX_OK) return status;
  if (bytes > NOTIFICATION_BYTES_MAX || (message == NULL && bytes > 0)) {
    return fail(TCPX_ERR_ARGUMENT, "notify: %zu bytes, at most %d", bytes, NOTIFICATION_BYTES_MAX);
  }
  struct notify_record record = {(int32_t)peer, (int32_t)bytes};
  const struct part parts[] = {{&record, sizeof record}, {message, bytes}};
  return put_command(session, COMMAND_NOTIFY, parts, 2);
}

struct seen { tcpx_session *session; int32_t events; };

static bool has_changed(void *what) {
  const struct seen *seen = what;
  return load(&client_block(seen->session)->events) != seen->events;
}

tcpx_status tcpx_wait_event(tcpx_session *session, int timeout_ms) {
  tcpx_status status = check_session(session);
  if (status != TCPX_OK) return status;
  struct seen seen = {session, load(&client_block(session)->events)};
  return wait_until(session, has_changed, &seen, timeout_ms);
}
