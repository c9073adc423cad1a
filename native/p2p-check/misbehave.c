// A client that breaks the rules of its ring and its socket: what the service makes of it is what
// the tests look at. The library's own structures are open to this program.

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

static struct ring_block *commands(void) {
  return (void *)(session->mapping + session->facts.commands_at);
}

static void publish(uint32_t tail) {
  __atomic_store_n(&commands()->tail, (int32_t)tail, __ATOMIC_SEQ_CST);
  __atomic_store_n(&client_block(session)->service_sleeps, 0, __ATOMIC_SEQ_CST);
  wake_service(session);
}

// The whole mapping, with a tail that says that all of it is commands.
static void scribble(void) {
  for (size_t at = 0; at + 256 <= session->mapping_bytes; at += 256) {
    if (getrandom(session->mapping + at, 256, 0) != 256) return;
  }
  publish(session->command_tail + COMMAND_RING_DATA_BYTES);
}

static void put_raw(int kind, const int32_t *words, size_t count) {
  const struct part parts[] = {{words, count * sizeof *words}};
  put_command(session, kind, parts, 1);
}

static void send_raw(const void *bytes, size_t count) {
  if (send(session->fd, bytes, count, MSG_NOSIGNAL) < 0) return;
}

bool misbehave(int count, char **words) {
  const char *verb = words[0];
  if (strcmp(verb, "break") != 0 || count < 2) return false;
  const char *how = words[1];
  if (strcmp(how, "scribble") == 0) scribble();
  else if (strcmp(how, "tail") == 0) publish(session->command_tail + 2 * COMMAND_RING_DATA_BYTES);
  else if (strcmp(how, "kind") == 0) put_raw(77, (int32_t[]){1, 2, 3, 4}, 4);
  else if (strcmp(how, "request") == 0) put_raw(COMMAND_POST, (int32_t[]){1 << 30, 1, 0, -1}, 4);
  else if (strcmp(how, "length") == 0) put_raw(COMMAND_POST, (int32_t[]){0, 1, 0, 1 << 20}, 4);
  else if (strcmp(how, "short") == 0) put_raw(COMMAND_POST, (int32_t[]){0}, 1);
  else if (strcmp(how, "message") == 0) send_raw((int32_t[]){1 << 30, 2, 1, 0}, 16);
  else if (strcmp(how, "unknown") == 0) send_raw((int32_t[]){16, 99, 1, 0}, 16);
  else if (strcmp(how, "version") == 0) {
    struct attach_message wish = {.version = SERVICE_VERSION + 1, .name_bytes = 1};
    const struct part parts[] = {{&wish, sizeof wish}, {"x", 1}};
    struct answer answer;
    tcpx_session other = {.fd = -1, .owner = getpid()};
    pthread_mutex_init(&other.call_lock, NULL);
    pthread_mutex_init(&other.send_lock, NULL);
    tcpx_status status = connect_service(count > 2 ? words[2] : NULL, &other.fd);
    if (status == TCPX_OK) status = call(&other, MESSAGE_ATTACH, parts, 2, NOTHING_PASSED, &answer);
    close(other.fd);
    reply(status, "accepted");
    return true;
  }
  reply(TCPX_OK, "done");
  return true;
}
