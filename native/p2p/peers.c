// Peers: how they are reached, connections to and from them, their regions.

#include <string.h>

#include "internal.h"

tcpx_status tcpx_load_peer(tcpx_session *session, const char *name, const char *conn_info,
                           uint32_t *peer) {
  tcpx_status status = check_session(session);
  if (status != TCPX_OK) return status;
  if (name == NULL || conn_info == NULL || peer == NULL || strlen(name) > NAME_BYTES_MAX ||
      strlen(conn_info) > MESSAGE_TEXT_BYTES_MAX) {
    return fail(TCPX_ERR_ARGUMENT, "load a peer: its name and its connection info are needed");
  }
  int32_t name_bytes = (int32_t)strlen(name);
  const struct part parts[] = {{&name_bytes, sizeof name_bytes},
                               {name, strlen(name)},
                               {conn_info, strlen(conn_info)}};
  return call_number(session, MESSAGE_LOAD_PEER, parts, 3, peer);
}

struct connecting {
  const struct peer_entry *entry;
  int32_t number;
};

static bool is_connected(void *what) {
  const struct connecting *connecting = what;
  return load(&connecting->entry->connects) == connecting->number;
}

tcpx_status tcpx_connect(tcpx_session *session, uint32_t peer, int timeout_ms) {
  const struct part parts[] = {{&peer, sizeof peer}};
  uint32_t number = 0;
  tcpx_status status = call_number(session, MESSAGE_CONNECT, parts, 1, &number);
  if (status != TCPX_OK) return status;
  const struct peer_entry *entries = (const void *)(session->mapping + session->facts.peers_at);
  struct connecting connecting = {&entries[peer], (int32_t)number};
  status = wait_until(session, is_connected, &connecting, timeout_ms);
  if (status != TCPX_OK) return status;
  status = (tcpx_status)load(&connecting.entry->status);
  if (status == TCPX_OK) return status;
  char text[512] = "";
  const uint32_t words[] = {1, peer};
  const struct part question[] = {{words, sizeof words}};
  call_text(session, MESSAGE_EXPLAIN, question, 1, text, sizeof text);
  return fail(status, "connect: %s", text);
}

tcpx_status tcpx_disconnect(tcpx_session *session, uint32_t peer) {
  const struct part parts[] = {{&peer, sizeof peer}};
  return call_number(session, MESSAGE_DISCONNECT, parts, 1, NULL);
}

tcpx_status tcpx_accept(tcpx_session *session, const char *name, int timeout_ms) {
  tcpx_status status = check_session(session);
  if (status != TCPX_OK) return status;
  if (name == NULL || strlen(name) > NAME_BYTES_MAX) {
    return fail(TCPX_ERR_ARGUMENT, "accept: the name of the peer is needed");
  }
  int32_t name_bytes = (int32_t)strlen(name);
  const struct part parts[] = {{&name_bytes, sizeof name_bytes}, {name, strlen(name)}};
  for (int64_t end = now_ms() + timeout_ms;;) {
    uint32_t is_there = 0;
    status = call_number(session, MESSAGE_FIND_PEER, parts, 2, &is_there);
    if (status != TCPX_OK || is_there == 1) return status;
    int64_t left = timeout_ms < 0 ? 100 : end - now_ms();
    if (left <= 0) return fail(TCPX_ERR_TIMEOUT, "accept: no %s within %d ms", name, timeout_ms);
    // Whatever happens may be that peer; now and then it is asked for in any case.
    status = tcpx_wait_event(session, left < 20 ? (int)left : 20);
    if (status != TCPX_OK && status != TCPX_ERR_TIMEOUT) return status;
  }
}

tcpx_status tcpx_load_region(tcpx_session *session, uint32_t peer, const char *key, uint64_t bytes,
                             uint32_t *region) {
  tcpx_status status = check_session(session);
  if (status != TCPX_OK) return status;
  if (key == NULL || region == NULL || strlen(key) > MESSAGE_TEXT_BYTES_MAX) {
    return fail(TCPX_ERR_ARGUMENT, "load a region: its key is needed");
  }
  if (!is_countable(bytes)) {
    return fail(TCPX_ERR_ARGUMENT, "load a region: %llu bytes are beyond 2^53",
                (unsigned long long)bytes);
  }
  const struct { uint32_t peer, zero; uint64_t bytes; } head = {peer, 0, bytes};
  const struct part parts[] = {{&head, sizeof head}, {key, strlen(key)}};
  return call_number(session, MESSAGE_LOAD_REGION, parts, 2, region);
}

tcpx_status tcpx_unload_region(tcpx_session *session, uint32_t region) {
  const struct part parts[] = {{&region, sizeof region}};
  return call_number(session, MESSAGE_UNLOAD_REGION, parts, 1, NULL);
}
