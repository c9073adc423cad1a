// Requests: prepared at the service, posted through the ring, looked at in the mapping.

#include <stdlib.h>
#include <string.h>

#include "internal.h"

_Static_assert(sizeof(tcpx_block) == sizeof(struct block_row), "a block is a row");
_Static_assert(offsetof(tcpx_block, local_offset) == offsetof(struct block_row, local_offset), "");
_Static_assert(offsetof(tcpx_block, bytes) == offsetof(struct block_row, bytes), "");

// That they lie inside of their memory is the service's to say: it knows the lengths.
static tcpx_status check_blocks(const tcpx_block *blocks, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const tcpx_block *block = &blocks[i];
    if (is_countable(block->local_offset | block->remote_offset | block->bytes)) continue;
    return fail(TCPX_ERR_ARGUMENT,
                "prepare: block %zu: offset %llu, remote offset %llu or %llu bytes is beyond 2^53",
                i, (unsigned long long)block->local_offset,
                (unsigned long long)block->remote_offset, (unsigned long long)block->bytes);
  }
  return TCPX_OK;
}

static tcpx_status check_prepare(const tcpx_session *session, tcpx_operation operation,
                                 const tcpx_block *blocks, size_t count) {
  if (operation != TCPX_OP_WRITE && operation != TCPX_OP_READ) {
    return fail(TCPX_ERR_ARGUMENT, "prepare: operation %d is neither a write nor a read",
                (int)operation);
  }
  if (blocks == NULL || count == 0) return fail(TCPX_ERR_ARGUMENT, "prepare: %zu blocks", count);
  if (count > (size_t)session->facts.blocks_max) {
    return fail(TCPX_ERR_LIMIT, "prepare %zu blocks: service.blocksMax allows %d", count,
                (int)session->facts.blocks_max);
  }
  return check_blocks(blocks, count);
}

tcpx_status tcpx_prepare(tcpx_session *session, tcpx_operation operation, uint32_t peer,
                         const tcpx_block *blocks, size_t count, tcpx_request **out) {
  tcpx_status status = check_session(session);
  if (status != TCPX_OK) return status;
  if (out == NULL) return fail(TCPX_ERR_ARGUMENT, "prepare: no place for the request");
  status = check_prepare(session, operation, blocks, count);
  if (status != TCPX_OK) return status;
  struct tcpx_request *request = calloc(1, sizeof *request);
  if (request == NULL) return fail_errno("calloc");
  const int32_t head[] = {(int32_t)operation, (int32_t)peer, (int32_t)count, 0};
  _Static_assert(sizeof head == PREPARE_HEAD_BYTES, "head of PREPARE");
  const struct part parts[] = {{head, sizeof head}, {blocks, count * sizeof *blocks}};
  status = call_number(session, MESSAGE_PREPARE, parts, 2, &request->index);
  if (status != TCPX_OK) return free(request), status;
  request->session = session;
  pthread_mutex_lock(&session->list_lock);
  request->next = session->requests;
  session->requests = request;
  pthread_mutex_unlock(&session->list_lock);
  *out = request;
  return TCPX_OK;
}

static struct request_entry *entry_of(const tcpx_request *request) {
  const tcpx_session *session = request->session;
  struct request_entry *entries = (void *)(session->mapping + session->facts.requests_at);
  return &entries[request->index];
}

static bool is_finished(void *what) {
  const tcpx_request *request = what;
  return load(&entry_of(request)->finished) == request->posts;
}

tcpx_status tcpx_post(tcpx_request *request, const tcpx_post_options *options) {
  if (request == NULL) return fail(TCPX_ERR_ARGUMENT, "post: no request");
  tcpx_status status = check_session(request->session);
  if (status != TCPX_OK) return status;
  if (!is_finished(request)) return fail(TCPX_ERR_STATE, "post: the request is in flight");
  struct post_record record = {.request = (int32_t)request->index, .notify_bytes = -1};
  struct part notify = {NULL, 0};
  if (options != NULL) {
    if (options->size < sizeof *options) return fail(TCPX_ERR_ARGUMENT, "post: size of options");
    if (options->notify_bytes > NOTIFICATION_BYTES_MAX || options->deadline_ms > INT32_MAX) {
      return fail(TCPX_ERR_ARGUMENT, "post: notification of %zu bytes, deadline of %u ms",
                  options->notify_bytes, options->deadline_ms);
    }
    record.deadline_ms = (int32_t)options->deadline_ms;
    if (options->notify != NULL) {
      record.notify_bytes = (int32_t)options->notify_bytes;
      notify = (struct part){options->notify, options->notify_bytes};
    }
  }
  // Wraps, and never is 0, which stands for no post.
  int32_t number = request->posts == INT32_MAX ? 1 : request->posts + 1;
  record.number = number;
  const struct part parts[] = {{&record, sizeof record}, notify};
  int32_t before = request->posts;
  request->posts = number;
  status = put_command(request->session, COMMAND_POST, parts, 2);
  if (status != TCPX_OK) request->posts = before;
  return status;
}

tcpx_status tcpx_peek(tcpx_request *request) {
  if (request == NULL) return fail(TCPX_ERR_ARGUMENT, "test: no request");
  tcpx_status status = check_owner(request->session);
  if (status != TCPX_OK) return status;
  if (request->posts == 0) return fail(TCPX_ERR_STATE, "test: the request was not posted");
  if (is_finished(request)) return (tcpx_status)load(&entry_of(request)->status);
  status = check_session(request->session);
  return status == TCPX_OK ? TCPX_IN_PROGRESS : status;
}

tcpx_status tcpx_test(tcpx_request *request) {
  tcpx_status status = tcpx_peek(request);
  if (status != TCPX_IN_PROGRESS) return status;
  status = check_service(request->session);
  return status == TCPX_OK ? TCPX_IN_PROGRESS : status;
}

tcpx_status tcpx_wait(tcpx_request *request, int timeout_ms) {
  tcpx_status status = tcpx_test(request);
  if (status != TCPX_IN_PROGRESS) return status;
  status = wait_until(request->session, is_finished, request, timeout_ms);
  return status == TCPX_OK ? (tcpx_status)load(&entry_of(request)->status) : status;
}

tcpx_status tcpx_cancel(tcpx_request *request) {
  if (request == NULL) return fail(TCPX_ERR_ARGUMENT, "cancel: no request");
  tcpx_status status = check_session(request->session);
  if (status != TCPX_OK || is_finished(request)) return status;
  struct cancel_record record = {(int32_t)request->index, request->posts};
  const struct part parts[] = {{&record, sizeof record}};
  return put_command(request->session, COMMAND_CANCEL, parts, 1);
}

static void forget(tcpx_request *request) {
  tcpx_session *session = request->session;
  pthread_mutex_lock(&session->list_lock);
  struct tcpx_request **place = &session->requests;
  while (*place != NULL && *place != request) place = &(*place)->next;
  if (*place != NULL) *place = request->next;
  pthread_mutex_unlock(&session->list_lock);
  free(request);
}

tcpx_status tcpx_release(tcpx_request *request, int timeout_ms) {
  if (request == NULL) return TCPX_OK;
  tcpx_session *session = request->session;
  const struct part parts[] = {{&request->index, sizeof request->index}};
  tcpx_status status = call_number(session, MESSAGE_RELEASE, parts, 1, NULL);
  if (status == TCPX_ERR_BUSY && timeout_ms != 0) {
    // It has been cancelled; whatever it comes to, it is over then.
    tcpx_status waited = wait_until(session, is_finished, request, timeout_ms);
    if (waited != TCPX_ERR_TIMEOUT) {
      status = call_number(session, MESSAGE_RELEASE, parts, 1, NULL);
    }
  }
  if (status == TCPX_ERR_BUSY || status == TCPX_ERR_FORKED) return status;
  // A service that is gone holds nothing any more.
  forget(request);
  return TCPX_OK;
}

void free_requests(tcpx_session *session) {
  while (session->requests != NULL) {
    struct tcpx_request *request = session->requests;
    session->requests = request->next;
    free(request);
  }
}

tcpx_status tcpx_explain(tcpx_request *request, char *text, size_t size) {
  if (request == NULL) return fail(TCPX_ERR_ARGUMENT, "explain: no request");
  tcpx_status status = check_session(request->session);
  if (status != TCPX_OK) return status;
  if (text == NULL) return fail(TCPX_ERR_ARGUMENT, "explain: no room for the text");
  const uint32_t words[] = {0, request->index};
  const struct part parts[] = {{words, sizeof words}};
  return call_text(request->session, MESSAGE_EXPLAIN, parts, 1, text, size);
}

tcpx_status tcpx_receipt(tcpx_request *request, char *text, size_t size) {
  if (request == NULL) return fail(TCPX_ERR_ARGUMENT, "receipt: no request");
  tcpx_status status = check_session(request->session);
  if (status != TCPX_OK) return status;
  if (text == NULL) return fail(TCPX_ERR_ARGUMENT, "receipt: no room for the text");
  const struct part parts[] = {{&request->index, sizeof request->index}};
  return call_text(request->session, MESSAGE_RECEIPT, parts, 1, text, size);
}

static tcpx_status start(tcpx_session *session, tcpx_operation operation, uint32_t peer,
                         const tcpx_block *blocks, size_t count, tcpx_request **out) {
  tcpx_request *request = NULL;
  tcpx_status status = tcpx_prepare(session, operation, peer, blocks, count,
                                    out == NULL ? NULL : &request);
  if (status != TCPX_OK) return status;
  status = tcpx_post(request, NULL);
  if (status != TCPX_OK) return tcpx_release(request, 0), status;
  *out = request;
  return TCPX_OK;
}

tcpx_status tcpx_write(tcpx_session *session, uint32_t peer, const tcpx_block *blocks, size_t count,
                       tcpx_request **request) {
  return start(session, TCPX_OP_WRITE, peer, blocks, count, request);
}

tcpx_status tcpx_read(tcpx_session *session, uint32_t peer, const tcpx_block *blocks, size_t count,
                      tcpx_request **request) {
  return start(session, TCPX_OP_READ, peer, blocks, count, request);
}
