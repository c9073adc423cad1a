// Questions to the service over the socket. One at a time per session: another thread's waits.

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "internal.h"

enum { PARTS_MAX = 4 };

static size_t total_bytes(const struct part *parts, size_t count) {
  size_t bytes = 0;
  for (size_t i = 0; i < count; i++) bytes += parts[i].bytes;
  return bytes;
}

// All of it, with the descriptors at its first byte. Waits while the service does not read, for as
// long as an answer may take (SO_SNDTIMEO).
static bool send_all(int fd, struct iovec *vector, size_t count, struct passed passed) {
  char control[CMSG_SPACE(REGISTER_DESCRIPTORS_MAX * sizeof(int))] __attribute__((aligned(8)));
  struct msghdr message = {.msg_iov = vector, .msg_iovlen = count};
  if (passed.count > 0) {
    size_t bytes = passed.count * sizeof *passed.fds;
    memset(control, 0, sizeof control);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(bytes);
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(bytes);
    memcpy(CMSG_DATA(head), passed.fds, bytes);
  }
  while (message.msg_iovlen > 0) {
    ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    message.msg_control = NULL;
    message.msg_controllen = 0;
    while (message.msg_iovlen > 0 && (size_t)sent >= message.msg_iov->iov_len) {
      sent -= (ssize_t)message.msg_iov->iov_len;
      message.msg_iov++;
      message.msg_iovlen--;
    }
    if (message.msg_iovlen == 0) break;
    message.msg_iov->iov_base = (char *)message.msg_iov->iov_base + sent;
    message.msg_iov->iov_len -= (size_t)sent;
  }
  return true;
}

static bool send_message(tcpx_session *session, struct message_head *head,
                         const struct part *parts, size_t count, struct passed passed) {
  struct iovec vector[1 + PARTS_MAX] = {{head, sizeof *head}};
  for (size_t i = 0; i < count; i++) {
    vector[1 + i] = (struct iovec){(void *)(uintptr_t)parts[i].data, parts[i].bytes};
  }
  pthread_mutex_lock(&session->send_lock);
  bool is_sent = send_all(session->fd, vector, 1 + count, passed);
  pthread_mutex_unlock(&session->send_lock);
  return is_sent;
}

// Exactly so many bytes, and descriptors that may come along; false at the end of the stream or
// after the time.
static bool receive_all(int fd, void *data, size_t bytes, int64_t end_ms, int *fds) {
  for (size_t have = 0; have < bytes;) {
    int64_t left = end_ms - now_ms();
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    if (left <= 0) return false;
    int count = poll(&ready, 1, (int)left);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    char control[CMSG_SPACE(ANSWER_FDS_MAX * sizeof(int))] __attribute__((aligned(8)));
    struct iovec place = {(char *)data + have, bytes - have};
    struct msghdr message = {.msg_iov = &place, .msg_iovlen = 1, .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return false;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head != NULL && head->cmsg_type == SCM_RIGHTS && fds[0] < 0) {
      memcpy(fds, CMSG_DATA(head), head->cmsg_len - CMSG_LEN(0));
    }
    have += (size_t)got;
  }
  return true;
}

static bool receive_answer(tcpx_session *session, int kind, int64_t end_ms,
                           struct message_head *head, struct answer *answer) {
  if (!receive_all(session->fd, head, sizeof *head, end_ms, answer->fds)) return false;
  if (head->kind != kind || head->sequence != session->sequence) return false;
  if (head->bytes < (int32_t)sizeof *head ||
      head->bytes > (int32_t)sizeof *head + MESSAGE_TEXT_BYTES_MAX + 64) {
    return false;
  }
  answer->bytes = (size_t)head->bytes - sizeof *head;
  answer->payload = calloc(1, answer->bytes + 1);
  if (answer->payload == NULL) return false;
  return receive_all(session->fd, answer->payload, answer->bytes, end_ms, answer->fds);
}

const struct passed NOTHING_PASSED = {NULL, 0};
static const struct answer NO_ANSWER = {.fds = {-1, -1}};

void drop_answer(struct answer *answer) {
  free(answer->payload);
  for (int i = 0; i < ANSWER_FDS_MAX; i++) {
    if (answer->fds[i] >= 0) close(answer->fds[i]);
  }
  *answer = NO_ANSWER;
}

tcpx_status call(tcpx_session *session, int kind, const struct part *parts, size_t count,
                 struct passed passed, struct answer *answer) {
  *answer = NO_ANSWER;
  tcpx_status usable = check_session(session);
  if (usable != TCPX_OK) return usable;
  struct message_head head = {.kind = kind};
  size_t bytes = sizeof head + total_bytes(parts, count);
  if (bytes > INT32_MAX) return fail(TCPX_ERR_ARGUMENT, "a message of %zu bytes", bytes);
  head.bytes = (int32_t)bytes;
  pthread_mutex_lock(&session->call_lock);
  head.sequence = ++session->sequence;
  int64_t end_ms = now_ms() + session->answer_ms;
  bool is_sent = send_message(session, &head, parts, count, passed);
  // Even where sending failed, the reason may lie in the socket.
  bool is_answered = receive_answer(session, kind, end_ms, &head, answer);
  pthread_mutex_unlock(&session->call_lock);
  if (!is_answered) {
    drop_answer(answer);
    (void)is_sent;
    return mark_gone(session);
  }
  if (head.status >= 0) return TCPX_OK;
  tcpx_status status = fail((tcpx_status)head.status, "%s", (const char *)answer->payload);
  drop_answer(answer);
  return status;
}

tcpx_status call_number(tcpx_session *session, int kind, const struct part *parts, size_t count,
                        uint32_t *number) {
  struct answer answer;
  tcpx_status status = call(session, kind, parts, count, NOTHING_PASSED, &answer);
  if (status != TCPX_OK) return status;
  if (number != NULL && answer.bytes >= sizeof *number) {
    memcpy(number, answer.payload, sizeof *number);
  }
  drop_answer(&answer);
  return TCPX_OK;
}

tcpx_status call_text(tcpx_session *session, int kind, const struct part *parts, size_t count,
                      char *text, size_t size) {
  struct answer answer;
  tcpx_status status = call(session, kind, parts, count, NOTHING_PASSED, &answer);
  if (status != TCPX_OK) return status;
  if (size > 0) {
    size_t bytes = answer.bytes < size - 1 ? answer.bytes : size - 1;
    memcpy(text, answer.payload, bytes);
    text[bytes] = '\0';
  }
  drop_answer(&answer);
  return TCPX_OK;
}
