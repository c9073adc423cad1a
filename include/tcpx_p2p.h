/*
 * tcpx_p2p.h: memory moved between machines over TCP, one-sided, for programs in C and whatever can
 * call C. The work is done by the node service (`tcpx serve`); this library attaches to it through
 * a Unix socket and shared memory, and holds no threads, no sockets to other machines and no GPU
 * state of its own. docs/service.md describes both.
 *
 * A program opens a session under a name, exchanges two texts with its peers by whatever means it
 * has (connection info and region keys), and then writes to and reads from their memory:
 *
 *     tcpx_session *s;
 *     tcpx_open(NULL, "decode-0", NULL, &s);
 *     tcpx_register(s, buffer, bytes, TCPX_MEMORY_HOST, TCPX_READ | TCPX_WRITE, &memory);
 *     tcpx_load_peer(s, "prefill-0", their_info, &peer);
 *     tcpx_load_region(s, peer, their_key, their_bytes, &region);
 *     tcpx_write(s, peer, &(tcpx_block){memory, region, 0, 0, bytes}, 1, &request);
 *     tcpx_wait(request, 1000);
 *
 * Every call answers with a tcpx_status: 0 good, above 0 not finished, below 0 failed; then
 * tcpx_last_error() has a line that says what was attempted and what was seen. No call aborts the
 * program, and none blocks for longer than its time allows.
 *
 * Threads: every call may be made from any thread at any time, on the same session or another. Two
 * threads must not post, wait for and release the same request at the same time.
 *
 * fork: the parent goes on as before. In the child every call on an inherited session, or on a
 * request of one, answers TCPX_ERR_FORKED, and at once, whatever threads of the parent were in;
 * those that answer with a text answer NULL. Only tcpx_close frees what the child has of it. The
 * child may open a session of its own.
 */
#ifndef TCPX_P2P_H
#define TCPX_P2P_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(TCPX_P2P_BUILDING) && defined(__GNUC__)
#define TCPX_API __attribute__((visibility("default")))
#else
#define TCPX_API
#endif

/* Grows with every addition; a change that breaks callers changes the library's soname. */
#define TCPX_P2P_API_VERSION 3

typedef enum tcpx_status {
  TCPX_OK = 0,
  TCPX_IN_PROGRESS = 1,
  TCPX_ERR_ARGUMENT = -1,       /* missing, malformed or out of range */
  TCPX_ERR_STATE = -2,          /* not allowed in this state */
  TCPX_ERR_NOT_FOUND = -3,      /* no such peer, memory, region or request */
  TCPX_ERR_NOT_SUPPORTED = -4,  /* not offered by this service or this build */
  TCPX_ERR_LIMIT = -5,          /* a quota of the service is used up */
  TCPX_ERR_BUSY = -6,           /* in use; try again later */
  TCPX_ERR_TIMEOUT = -7,        /* the time given is over */
  TCPX_ERR_CANCELLED = -8,      /* cancelled by its owner */
  TCPX_ERR_DEADLINE = -9,       /* not finished by its deadline */
  TCPX_ERR_PEER_LOST = -10,     /* the peer is gone or cannot be reached */
  TCPX_ERR_PEER_REFUSED = -11,  /* the peer answered and refused */
  TCPX_ERR_ACCESS = -12,        /* stale region, out of bounds, or no such right */
  TCPX_ERR_TRANSFER = -13,      /* failed; bytes may have landed in part */
  TCPX_ERR_MEMORY = -14,        /* the service cannot reach this memory */
  TCPX_ERR_DEVICE = -15,        /* a GPU or its driver is missing or failed */
  TCPX_ERR_NO_SERVICE = -16,    /* no service answers at this path */
  TCPX_ERR_SERVICE_GONE = -17,  /* it has ended, or has let this client go: open anew */
  TCPX_ERR_VERSION = -18,       /* library and service speak different versions */
  TCPX_ERR_PROTOCOL = -19,      /* this client broke the rules and was let go */
  TCPX_ERR_PERMISSION = -20,    /* the system or the service does not allow it */
  TCPX_ERR_FORKED = -21,        /* this process is a fork of the session's */
  TCPX_ERR_SYSTEM = -22,        /* a system call failed */
  TCPX_ERR_FULL = -23           /* the ring is full: the service has not kept up; try again */
} tcpx_status;

/* An attachment to the service, under one name. */
typedef struct tcpx_session tcpx_session;
/* Blocks to move, prepared once, posted as often as wanted. */
typedef struct tcpx_request tcpx_request;

/* ---- Session ---------------------------------------------------------------------------------- */

/*
 * Attaches to the service. `folder` is its runtime folder; NULL: $NIXL_TCPX_SERVICE_FOLDER, then
 * $XDG_RUNTIME_DIR/nixl-tcpx, then /tmp/nixl-tcpx-UID. `name` is how peers see this session: 1 to
 * 255 bytes, different for each session that they talk to. `settings` is NULL or lines of
 * `name=value` (docs/configuration.md) for the engine of this session.
 *
 * Where nobody answers and NIXL_TCPX_SERVICE_AUTOSTART is 1 or true, a service is started
 * ($NIXL_TCPX_SERVICE_COMMAND, else `tcpx serve`) and waited for. Words of the command are divided by
 * blanks. It runs in / with the program's environment, and with none of its descriptors.
 */
TCPX_API tcpx_status tcpx_open(const char *folder, const char *name, const char *settings,
                               tcpx_session **session);

/*
 * Gives up what is in flight and frees everything of the session, requests included. On return
 * nothing reads or writes memory of this session any more, unless the service was stopped and did
 * not answer for service.answerMs (30 s).
 */
TCPX_API void tcpx_close(tcpx_session *session);

/*
 * TCPX_OK while the service serves this session. TCPX_ERR_SERVICE_GONE once it has ended, even if
 * it was killed: every call says so then, within a second. Close, and open anew.
 */
TCPX_API tcpx_status tcpx_alive(tcpx_session *session);

/*
 * One line of JSON: `provider` and `providerReason` (what this session offers, and why), and `rails`:
 * what its own transfers moved over each NIC so far, with which provider. Since version 3.
 */
TCPX_API tcpx_status tcpx_telemetry(tcpx_session *session, char *text, size_t size);

/*
 * How peers reach this session: text for tcpx_load_peer, the session's until it is closed; NULL in
 * a forked child. The session accepts peers from its opening on.
 */
TCPX_API const char *tcpx_conn_info(const tcpx_session *session);

/* The two names of those who are used to sessions that listen and accept. */
static inline const char *tcpx_listen(const tcpx_session *session) {
  return tcpx_conn_info(session);
}
/* Waits until a peer of this name has connected; TCPX_ERR_TIMEOUT when none has in time. */
TCPX_API tcpx_status tcpx_accept(tcpx_session *session, const char *name, int timeout_ms);

/*
 * Remembers how to reach a peer. The session's own name and info are allowed: loopback. A name
 * that is loaded already answers with the same number where the info is the same, and TCPX_ERR_STATE
 * where it is not: disconnect first.
 */
TCPX_API tcpx_status tcpx_load_peer(tcpx_session *session, const char *name, const char *conn_info,
                                    uint32_t *peer);
/* Connects; the first post does so by itself. Does nothing where there is a connection. */
TCPX_API tcpx_status tcpx_connect(tcpx_session *session, uint32_t peer, int timeout_ms);
/* Ends the connection, fails what is in flight to the peer, and forgets it and its regions. */
TCPX_API tcpx_status tcpx_disconnect(tcpx_session *session, uint32_t peer);

/* ---- Memory ----------------------------------------------------------------------------------- */

enum { TCPX_READ = 1, TCPX_WRITE = 2 }; /* what peers may do with it */

typedef enum tcpx_memory_kind {
  TCPX_MEMORY_HOST = 0,
  TCPX_MEMORY_CUDA = 1 /* a device address; the library finds GPU and allocation by itself */
} tcpx_memory_kind;

/*
 * Makes memory reachable, for own transfers and for peers that are given its key. The number of
 * the registration is 1 or above. Memory must stay allocated until it is deregistered.
 *
 * Host memory of tcpx_alloc is shared with the service; any other is copied once more, by
 * process_vm_readv and process_vm_writev, which needs the same user and PID namespace (the library
 * allows the service by PR_SET_PTRACER). TCPX_ERR_MEMORY names what is in the way: virtual memory
 * and pools of a GPU must have been made exportable by file descriptor.
 */
TCPX_API tcpx_status tcpx_register(tcpx_session *session, void *addr, size_t bytes,
                                   tcpx_memory_kind kind, unsigned rights, uint32_t *memory);
/*
 * The same for memory that is a shared mapping of `fd` from `offset` on: no extra copy. The file
 * must be sealed against shrinking (F_SEAL_SHRINK), because a shorter file would kill the service,
 * and not of huge pages, because they may run out. The descriptor stays the caller's.
 */
TCPX_API tcpx_status tcpx_register_fd(tcpx_session *session, void *addr, size_t bytes, int fd,
                                      uint64_t offset, unsigned rights, uint32_t *memory);
/* Refused with TCPX_ERR_BUSY while a transfer, own or of a peer, uses it. */
TCPX_API tcpx_status tcpx_deregister(tcpx_session *session, uint32_t memory);
/*
 * The key for peers: text, until the memory is deregistered. NULL where there is no such memory, or
 * in a forked child: tcpx_last_error() says which.
 */
TCPX_API const char *tcpx_describe(tcpx_session *session, uint32_t memory);
/*
 * How the service reaches it: "copied" or "shared" for host memory, "ipc", "vmm" (virtual memory,
 * by descriptors) or "pool" for GPU memory. NULL as above.
 */
TCPX_API const char *tcpx_memory_way(tcpx_session *session, uint32_t memory);

/*
 * Page-aligned memory of zeros that the service can share; tcpx_free after it was deregistered.
 * From 2 MiB on it lies on huge pages where the kernel can make some, and then has all of them now.
 */
TCPX_API tcpx_status tcpx_alloc(tcpx_session *session, size_t bytes, void **addr);
TCPX_API tcpx_status tcpx_free(tcpx_session *session, void *addr);

/* A region of a peer, from its key and length; the number is 1 or above. */
TCPX_API tcpx_status tcpx_load_region(tcpx_session *session, uint32_t peer, const char *key,
                                      uint64_t bytes, uint32_t *region);
TCPX_API tcpx_status tcpx_unload_region(tcpx_session *session, uint32_t region);

/* ---- Transfers -------------------------------------------------------------------------------- */

typedef struct tcpx_block {
  uint32_t memory; /* of tcpx_register */
  uint32_t region; /* of tcpx_load_region; all blocks of a request belong to one peer */
  uint64_t local_offset;
  uint64_t remote_offset;
  uint64_t bytes;
} tcpx_block;

typedef enum tcpx_operation { TCPX_OP_WRITE = 1, TCPX_OP_READ = 2 } tcpx_operation;

typedef struct tcpx_post_options {
  size_t size;           /* sizeof(tcpx_post_options): later versions may have more fields */
  const void *notify;    /* delivered to the peer after every byte has landed; NULL: none */
  size_t notify_bytes;   /* up to TCPX_NOTIFICATION_BYTES_MAX; may be 0 where notify is not NULL */
  uint32_t deadline_ms;  /* 0: none */
} tcpx_post_options;

enum { TCPX_NOTIFICATION_BYTES_MAX = 262144 };

/*
 * Checks blocks and keeps them at the service. The request is freed by tcpx_release or tcpx_close.
 * A block outside of its memory or its region, an offset or a length of 2^53 or more (here and
 * wherever one is given) and an unknown operation are TCPX_ERR_ARGUMENT.
 */
TCPX_API tcpx_status tcpx_prepare(tcpx_session *session, tcpx_operation operation, uint32_t peer,
                                  const tcpx_block *blocks, size_t count, tcpx_request **request);
/*
 * Starts it; never waits for it. Again after it has finished, with other options if wanted;
 * TCPX_ERR_STATE while it is in flight. `options` may be NULL. The contents of local memory are
 * read later: they must not change before a write is done.
 */
TCPX_API tcpx_status tcpx_post(tcpx_request *request, const tcpx_post_options *options);
/*
 * TCPX_IN_PROGRESS, or how the last post finished; TCPX_ERR_STATE before the first. TCPX_OK means
 * that every byte lies in the target's memory. Costs the load of a word; ten times a second it
 * also asks whether the service still lives.
 */
TCPX_API tcpx_status tcpx_test(tcpx_request *request);
/*
 * The same without that question: never a system call (before Linux 4.14 getpid, for forks). For programs with a thread that calls
 * tcpx_alive now and then; without one the end of the service goes unnoticed here. Since version 2.
 */
TCPX_API tcpx_status tcpx_peek(tcpx_request *request);
/*
 * The same, but waits: looks for some µs, then sleeps. Below 0: without end, unless the service
 * ends. TCPX_ERR_TIMEOUT leaves the transfer in flight.
 */
TCPX_API tcpx_status tcpx_wait(tcpx_request *request, int timeout_ms);
/* Asks to give up what is not sent; the transfer then finishes with TCPX_ERR_CANCELLED. */
TCPX_API tcpx_status tcpx_cancel(tcpx_request *request);
/*
 * Frees the request. One that is in flight is cancelled and waited for, for at most `timeout_ms`
 * (0: not at all); TCPX_ERR_BUSY then, and the request lives on.
 */
TCPX_API tcpx_status tcpx_release(tcpx_request *request, int timeout_ms);
/* Why the last post failed, as text for people; copied into `text`, cut to `size`. */
TCPX_API tcpx_status tcpx_explain(tcpx_request *request, char *text, size_t size);
/*
 * The receipt of the last post that finished, as one line of JSON: provider, path, NICs, bytes, times;
 * `memory` has the ways of this end's memory, `providerReason` why it did not go through a plugin.
 */
TCPX_API tcpx_status tcpx_receipt(tcpx_request *request, char *text, size_t size);

/* tcpx_prepare and tcpx_post in one; release the request as any other. */
TCPX_API tcpx_status tcpx_write(tcpx_session *session, uint32_t peer, const tcpx_block *blocks,
                                size_t count, tcpx_request **request);
TCPX_API tcpx_status tcpx_read(tcpx_session *session, uint32_t peer, const tcpx_block *blocks,
                               size_t count, tcpx_request **request);

/* ---- Notifications ---------------------------------------------------------------------------- */

/* A message without data, in order with others to the same peer. Fire and forget. */
TCPX_API tcpx_status tcpx_notify(tcpx_session *session, uint32_t peer, const void *message,
                                 size_t bytes);
/*
 * The next notification that has come: name of the sender (NUL-terminated) and message, each once.
 * TCPX_IN_PROGRESS: none is there. TCPX_ERR_ARGUMENT: a buffer is too small; the sizes are set to
 * what is needed and the notification stays.
 */
TCPX_API tcpx_status tcpx_next_notification(tcpx_session *session, char *name, size_t *name_size,
                                            void *message, size_t *message_size);
/* Sleeps until something has happened on the session, or the time is over (TCPX_ERR_TIMEOUT). */
TCPX_API tcpx_status tcpx_wait_event(tcpx_session *session, int timeout_ms);

/* ---- Errors and versions ---------------------------------------------------------------------- */

/* A line about the last call of this thread that failed; never NULL. */
TCPX_API const char *tcpx_last_error(void);
/* "TCPX_ERR_BUSY: in use; try again later"; never NULL. */
TCPX_API const char *tcpx_status_text(tcpx_status status);
/* Of the package, as "0.1.0". */
TCPX_API const char *tcpx_version(void);
/* TCPX_P2P_API_VERSION that the library was built with. */
TCPX_API int tcpx_api_version(void);

#ifdef __cplusplus
}
#endif

#endif
