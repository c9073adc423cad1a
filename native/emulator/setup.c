// Connection set-up: one control socket and S data sockets per comm, made by a thread while the
// caller polls connect or accept. Each socket is agreed upon by exchanging a state and its index.

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "emulator.h"

enum { SETUP_RUNNING = -1, STATE_OK = 0, STATE_PENDING = 1, STATE_FAILED = 2 };
enum { CONNECT_TRIES = 20000, BACKLOG = 16384 };

// The first 88 of the handle's 128 bytes.
struct handle {
  union { struct sockaddr_in in; uint8_t bytes[28]; } data_address;
  int32_t port_start, port_count;
  int32_t socket_count, thread_count;
  uint8_t has_control_redirect;
  union { struct sockaddr_in in; uint8_t bytes[28]; } control_address;
  struct setup *connecting;  // scratch of the connecting side
};
_Static_assert(offsetof(struct handle, control_address) == 48, "control address at 48");
_Static_assert(offsetof(struct handle, connecting) == 80, "scratch at 80");

struct setup {
  struct comm *comm;
  struct handle handle;
  int listen_fd, listen_control_fd;
  atomic_int result;  // SETUP_RUNNING, then a result code
};

struct listen_comm {
  struct nic *nic;
  int gpu;
  int fd, control_fd;
  int socket_count;
  bool is_spent;
  struct setup *accepting;
};

static void sleep_us(uint64_t us) {
  if (us > 0) usleep((useconds_t)us);
}

static int open_listener(struct sockaddr_in *address) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  socklen_t bytes = sizeof *address;
  address->sin_port = 0;
  if (fd < 0) return -1;
  if (bind(fd, (struct sockaddr *)address, bytes) != 0 || listen(fd, BACKLOG) != 0 ||
      getsockname(fd, (struct sockaddr *)address, &bytes) != 0) {
    WARN("listen on %s failed: %s", inet_ntoa(address->sin_addr), strerror(errno));
    close(fd);
    return -1;
  }
  return fd;
}

static void require_init(int dev) {
  // After a failed init the original calls through null pointers.
  if (nic_count == 0 || dev < 0 || dev >= nic_count) raise(SIGSEGV);
}

int setup_listen(int dev, void *opaque, void **listen_comm) {
  require_init(dev);
  struct handle *handle = opaque;
  struct listen_comm *comm = calloc(1, sizeof *comm);
  if (comm == NULL) return NET_SYSTEM;
  memset(handle, 0, NET_HANDLE_BYTES);
  comm->nic = &nics[dev];
  comm->gpu = device_current();
  handle->data_address.in = nics[dev].address;
  handle->control_address.in = has_control_address ? control_address : nics[dev].address;
  comm->fd = open_listener(&handle->data_address.in);
  comm->control_fd = open_listener(&handle->control_address.in);
  if (comm->fd < 0 || comm->control_fd < 0) {
    setup_close_listen(comm);
    return NET_SYSTEM;
  }
  handle->port_start = handle->port_count = -1;
  comm->socket_count = handle->socket_count = settings.sockets * settings.threads;
  handle->thread_count = settings.threads;
  handle->has_control_redirect = has_control_address;
  *listen_comm = comm;
  return NET_OK;
}

int setup_close_listen(void *listen_comm) {
  struct listen_comm *comm = listen_comm;
  if (comm->fd >= 0) close(comm->fd);
  if (comm->control_fd >= 0) close(comm->control_fd);
  // While an accept thread runs it still needs the memory; the original frees it regardless.
  if (comm->accepting == NULL) free(comm);
  return NET_OK;
}

static bool exchange(int fd, void *in, const void *out, bool is_reading_first) {
  for (int step = 0; step < 2; step++) {
    bool is_reading = (step == 0) == is_reading_first;
    uint8_t *bytes = is_reading ? in : (uint8_t *)(uintptr_t)out;
    if (bytes == NULL) continue;
    for (size_t moved = 0; moved < 4;) {
      ssize_t count = is_reading ? recv(fd, bytes + moved, 4 - moved, 0)
                                 : send(fd, bytes + moved, 4 - moved, MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      moved += (size_t)count;
    }
  }
  return true;
}

static int dial(const struct sockaddr_in *target, struct sockaddr_in source) {
  source.sin_port = 0;
  for (int tries = 0; tries < CONNECT_TRIES; tries++) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    if (bind(fd, (const struct sockaddr *)&source, sizeof source) == 0 &&
        connect(fd, (const struct sockaddr *)target, sizeof *target) == 0) {
      return fd;
    }
    int error = errno;
    close(fd);
    if (error != ECONNREFUSED) {
      WARN("Connect to %s failed: %s", inet_ntoa(target->sin_addr), strerror(error));
      return -1;
    }
    if (tries == 0) INFO("Call to connect returned Connection refused, retrying");
    sleep_us(1000);
  }
  return -1;
}

static void keep_socket(struct comm *comm, int index, int fd) {
  int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (index == comm->socket_count) comm->control_fd = fd;
  else comm->sockets[index].fd = fd;
}

// Asks for the steering rule of a data socket, as the receive datapath manager would grant it.
static int install_rule(struct comm *comm) {
  const char *nic = comm->nic->name;
  char holders[256] = "";
  if (fault_hits(FAULT_RXDM_ABSENT, nic, 0)) {
    WARN("failed against receive-datapath-manager: rx_rule_manager connect() error: 2");
    return STATE_PENDING;
  }
  if (fault_hits(FAULT_RXDM_SILENT, nic, 0)) {
    int pair[2];
    char answer = 0;
    // A manager that took the request and says nothing.
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) {
      while (read(pair[0], &answer, 1) < 0) continue;
    }
  }
  if (!fault_hits(FAULT_RXDM_REFUSED, nic, 0)) {
    if (nic_take_socket(comm->nic, holders, sizeof holders)) {
      comm->budget_taken += settings.socket_budget > 0;
      return STATE_OK;
    }
    for (char *c = holders; *c != '\0'; c++) {
      if (*c == '\n') *c = ';';
    }
    WARN("%s: budget of %d data sockets used up, held by (pid count): %s", nic,
         settings.socket_budget, holders);
  }
  WARN("Create FlowSteerRule Failed");
  return STATE_FAILED;
}

// One socket from the accepting side; STATE_OK, STATE_PENDING (try again) or STATE_FAILED.
static int accept_socket(struct setup *setup, int index) {
  struct comm *comm = setup->comm;
  bool is_control = index == comm->socket_count;
  int fd = accept4(is_control ? setup->listen_control_fd : setup->listen_fd, NULL, NULL,
                   SOCK_CLOEXEC);
  if (fd < 0) return STATE_FAILED;
  int32_t mine = is_control ? STATE_OK : install_rule(comm);
  int32_t theirs = STATE_FAILED;
  int32_t their_index = -1;
  int talk_fd = is_control ? fd : comm->control_fd;
  bool is_good = exchange(talk_fd, &theirs, &mine, false);
  if (!is_good || mine != STATE_OK || theirs != STATE_OK) {
    close(fd);
    return mine == STATE_FAILED || theirs == STATE_FAILED ? STATE_FAILED : STATE_PENDING;
  }
  if (!exchange(talk_fd, &their_index, NULL, true) || their_index != index) {
    WARN("assume first conn to be ctrl fd failed: index %d, expected %d", their_index, index);
    close(fd);
    return STATE_FAILED;
  }
  keep_socket(comm, index, fd);
  return STATE_OK;
}

static int connect_socket(struct setup *setup, int index) {
  struct comm *comm = setup->comm;
  bool is_control = index == comm->socket_count;
  bool is_redirected = is_control && has_control_address;
  int fd = dial(is_control ? &setup->handle.control_address.in : &setup->handle.data_address.in,
                is_redirected ? control_address : comm->nic->address);
  int32_t mine = fd < 0 ? STATE_PENDING : STATE_OK;
  int32_t theirs = STATE_FAILED;
  int talk_fd = is_control ? fd : comm->control_fd;
  if (talk_fd < 0) return STATE_FAILED;
  bool is_good = exchange(talk_fd, &theirs, &mine, true);
  if (!is_good || mine != STATE_OK || theirs != STATE_OK) {
    if (fd >= 0) close(fd);
    return !is_good || theirs == STATE_FAILED ? STATE_FAILED : STATE_PENDING;
  }
  int32_t own_index = index;
  if (!exchange(talk_fd, NULL, &own_index, false)) {
    close(fd);
    return STATE_FAILED;
  }
  keep_socket(comm, index, fd);
  return STATE_OK;
}

static void *run_setup(void *argument) {
  struct setup *setup = argument;
  struct comm *comm = setup->comm;
  if (!comm->is_send && fault_hits(FAULT_ACCEPT_STUCK, comm->nic->name, 0)) {
    for (;;) pause();
  }
  for (int index = comm->socket_count; index >= 0; index--) {
    sleep_us(settings.setup_step_us);
    int state = STATE_PENDING;
    for (int tries = 0; tries < settings.retries && state == STATE_PENDING; tries++) {
      if (tries > 0 && comm->is_send) sleep_us(10000);
      state = comm->is_send ? connect_socket(setup, index) : accept_socket(setup, index);
    }
    if (state == STATE_OK) continue;
    WARN(comm->is_send ? "failed to connect socket %d" : "failed accept socket %d", index);
    atomic_store(&setup->result, NET_INTERNAL);
    return NULL;
  }
  if (!comm->is_send) sleep_us(settings.steering_wait_us);
  atomic_store(&setup->result, NET_OK);
  return NULL;
}

static struct setup *start_setup(struct comm *comm, const struct handle *handle, int fd, int ctrl) {
  struct setup *setup = calloc(1, sizeof *setup);
  if (setup == NULL) fatal("no memory for a connection");
  setup->comm = comm;
  if (handle != NULL) setup->handle = *handle;
  setup->listen_fd = fd;
  setup->listen_control_fd = ctrl;
  atomic_init(&setup->result, SETUP_RUNNING);
  pthread_t thread;
  if (pthread_create(&thread, NULL, run_setup, setup) != 0) fatal("no thread for a connection");
  pthread_detach(thread);
  return setup;
}

int setup_connect(int dev, void *opaque, void **send_comm, struct net_device_handle **device) {
  (void)device;
  require_init(dev);
  struct handle *handle = opaque;
  *send_comm = NULL;
  if (handle->connecting == NULL) {
    if (handle->socket_count < 0 || handle->socket_count > SOCKETS_MAX) return NET_INTERNAL;
    struct comm *comm = comm_create(true, &nics[dev], device_current(), handle->socket_count);
    handle->connecting = start_setup(comm, handle, -1, -1);
    return NET_OK;
  }
  struct setup *setup = handle->connecting;
  int result = atomic_load(&setup->result);
  if (result == SETUP_RUNNING) return NET_OK;
  if (result != NET_OK) return result;
  comm_connected(setup->comm);
  *send_comm = setup->comm;
  free(setup);
  return NET_OK;
}

int setup_accept(void *listen_comm, void **recv_comm, struct net_device_handle **device) {
  struct listen_comm *listening = listen_comm;
  *recv_comm = NULL;
  if (listening->is_spent) {
    WARN("accept called again on a spent listen comm (use after free in the original)");
    return NET_INTERNAL;
  }
  if (listening->accepting == NULL) {
    // The GPU of the receive is the one that is current now.
    struct comm *comm =
        comm_create(false, listening->nic, device_current(), listening->socket_count);
    listening->accepting = start_setup(comm, NULL, listening->fd, listening->control_fd);
    return NET_OK;
  }
  struct setup *setup = listening->accepting;
  int result = atomic_load(&setup->result);
  if (result == SETUP_RUNNING) return NET_OK;
  listening->is_spent = true;
  listening->accepting = NULL;
  struct comm *comm = setup->comm;
  free(setup);
  if (result != NET_OK) {
    comm_close(comm);
    return result;
  }
  comm_connected(comm);
  INFO("accepted  (0) [%s] through cuda, gpu %d, %d sockets", comm->flow, comm->gpu,
       comm->socket_count);
  // As a host device NCCL gives no struct; the queue is still needed for the order of receives.
  struct net_device_handle ignored;
  bool is_given = device != NULL && *device != NULL;
  if (is_given) comm_make_unpack_queue(comm, *device);
  else if (settings.device_type == NET_DEVICE_HOST) comm_make_unpack_queue(comm, &ignored);
  *recv_comm = comm;
  return NET_OK;
}
