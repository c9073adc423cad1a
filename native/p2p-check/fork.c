// `fork REQUEST`: what a child is answered by every call on its parent's session, while each lock
// of it is held, as by another thread in mid-call. Says the first call that is not refused; and
// closes the session in the child, which must not harm the parent.

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { HANGS_SECONDS = 5 };

#define SEES(call) \
  if ((call) != TCPX_ERR_FORKED) return #call
#define SEES_NULL(call) \
  if ((call) != NULL) return #call

static const char *first_of_session(void) {
  uint32_t id = 0;
  uint8_t byte = 0;
  size_t size = 1;
  void *addr = &byte;
  char text[16];
  tcpx_request *made = NULL;
  const tcpx_block block = {1, 1, 0, 0, 1};
  SEES(tcpx_alive(session));
  SEES(tcpx_telemetry(session, text, sizeof text));
  SEES_NULL(tcpx_conn_info(session));
  SEES_NULL(tcpx_listen(session));
  SEES(tcpx_accept(session, "x", 0));
  SEES(tcpx_load_peer(session, "x", "x", &id));
  SEES(tcpx_connect(session, 0, 0));
  SEES(tcpx_disconnect(session, 0));
  SEES(tcpx_register(session, &byte, 1, TCPX_MEMORY_HOST, 3, &id));
  SEES(tcpx_register(session, NULL, 0, TCPX_MEMORY_HOST, 3, &id));
  SEES(tcpx_register_fd(session, &byte, 1, 0, 0, 3, &id));
  SEES(tcpx_deregister(session, 1));
  SEES_NULL(tcpx_describe(session, 1));
  SEES_NULL(tcpx_memory_way(session, 1));
  SEES(tcpx_alloc(session, 1, &addr));
  SEES(tcpx_free(session, &byte));
  SEES(tcpx_load_region(session, 0, "x", 1, &id));
  SEES(tcpx_unload_region(session, 1));
  SEES(tcpx_prepare(session, TCPX_OP_WRITE, 0, &block, 1, &made));
  SEES(tcpx_write(session, 0, &block, 1, &made));
  SEES(tcpx_read(session, 0, &block, 1, &made));
  SEES(tcpx_notify(session, 0, "", 0));
  SEES(tcpx_next_notification(session, text, &size, text, &size));
  SEES(tcpx_wait_event(session, 0));
  return NULL;
}

static const char *first_of_request(tcpx_request *request) {
  char text[16];
  SEES(tcpx_post(request, NULL));
  SEES(tcpx_test(request));
  SEES(tcpx_peek(request));
  SEES(tcpx_wait(request, 0));
  SEES(tcpx_cancel(request));
  SEES(tcpx_explain(request, text, sizeof text));
  SEES(tcpx_receipt(request, text, sizeof text));
  SEES(tcpx_release(request, 0));
  return NULL;
}

static void ask_and_exit(tcpx_request *request) {
  alarm(HANGS_SECONDS);
  const char *wrong = first_of_session();
  if (wrong == NULL) wrong = first_of_request(request);
  tcpx_close(session);
  reply(TCPX_OK, "%s", wrong == NULL ? "refused" : wrong);
  _exit(0);
}

void fork_and_ask(tcpx_request *request) {
  pthread_mutex_t *locks[] = {&session->call_lock, &session->send_lock, &session->ring_lock,
                              &session->list_lock};
  for (size_t i = 0; i < 4; i++) pthread_mutex_lock(locks[i]);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) ask_and_exit(request);
  for (size_t i = 0; i < 4; i++) pthread_mutex_unlock(locks[i]);
  int outcome = 0;
  waitpid(child, &outcome, 0);
  if (WIFSIGNALED(outcome)) reply(TCPX_OK, "a call hangs");
}
