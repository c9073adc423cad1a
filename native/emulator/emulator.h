// What the emulator's files share. One noun per file: settings, faults, log, device memory,
// bounce pool, NICs, connection set-up, requests, send and receive.
#ifndef EMULATOR_H
#define EMULATOR_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../nccl-net-v7.h"

enum {
  DEPTH = 16,         // requests per comm
  SOCKETS_MAX = 8,    // data sockets per comm
  THREADS_MAX = 16,
  TASKS_MAX = 6,      // chunks queued on one socket
  NICS_MAX = 16,
  GPUS_MAX = 64,
  NAME_BYTES = 16,
  PAGE_BYTES = 4096,
  BATCH_PAGES = 128,  // pages that one receive call fills, and of a block
  STAGE_BYTES = BATCH_PAGES * PAGE_BYTES,
  STAGES = 8,  // of a socket: copies of some run on while others are filled or sent
  PAGE_RUN_CUDA = 16,
};

enum fragment_mode { FRAGMENT_PAGE, FRAGMENT_RANDOM };
enum memory_mode { MEMORY_AUTO, MEMORY_HOST, MEMORY_CUDA };
enum bad_device { DEVICE_GOOD, BAD_TYPE, BAD_VERSION, BAD_SIZE, NO_HANDLE, WILD_HANDLE, NO_META, NO_BOUNCE };
enum poison_mode { POISON_OFF, POISON_HEAD, POISON_FULL };

struct settings {
  int sockets;
  int threads;
  uint32_t chunk_bytes;
  uint32_t inline_bytes;
  int retries;
  bool recv_sync;
  uint64_t steering_wait_us;
  uint64_t setup_step_us;
  uint64_t warn_after_ns;
  uint64_t warn_every_ns;
  bool same_host_allowed;
  bool token_leak;
  bool strict_pci;
  enum poison_mode poison;
  enum fragment_mode fragments;
  enum memory_mode memory;
  int device_type;
  enum bad_device bad_device;
  uint64_t seed;
  uint64_t bounce_bytes;
  bool huge_pages;
  uint64_t register_max_bytes;
  uint32_t page_run;  // 0: as page_run() says
  int socket_budget;  // data sockets per NIC over all processes; 0 = no limit
  const char *state_dir;
};
extern struct settings settings;
bool settings_read(void);
uint64_t settings_number(const char *name, uint64_t fallback, uint64_t low, uint64_t high);
const char *settings_text(const char *name);

enum fault {
  FAULT_INIT,
  FAULT_NO_CMSG,
  FAULT_HEADER_LANDING,
  FAULT_CMSG_TRUNCATED,
  FAULT_BYTES_MISMATCH,
  FAULT_TOO_MANY_FRAGMENTS,
  FAULT_RXDM_ABSENT,
  FAULT_RXDM_REFUSED,
  FAULT_PEER_CLOSED,
  FAULT_SOCKET_DEATH,
  FAULT_ACCEPT_STUCK,
  FAULT_HANG,
  FAULT_CRASH,
  FAULT_UNCOUNTED,
  FAULT_BAD_ENTRY,
  FAULT_CLOSE_STUCK,
  FAULT_CONTROL_ERROR,
  FAULT_RXDM_SILENT,
  FAULT_COUNT,
};
bool faults_read(void);
// Whether the fault is switched on for this NIC and its count has been reached.
bool fault_hits(enum fault fault, const char *nic, uint64_t count);

void log_open(net_logger logger);
#define WARN(...) log_line(LOG_LEVEL_WARN, ~0UL, __func__, __LINE__, __VA_ARGS__)
#define INFO(...) log_line(LOG_LEVEL_INFO, LOG_NET, __func__, __LINE__, __VA_ARGS__)
void log_line(int level, unsigned long flags, const char *where, int line, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
_Noreturn void fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));
uint64_t now_ns(void);

// Device memory: libcuda where it is in use, plain memory elsewhere.
bool device_open(enum memory_mode mode);
bool device_is_cuda(void);
int device_current(void);
void *device_alloc(int gpu, size_t bytes);
void device_free(int gpu, void *address);
void *pinned_alloc(int gpu, size_t bytes, void **device_address);
void pinned_free(int gpu, void *address);
void device_write(int gpu, void *target, const void *source, size_t bytes);
enum direction { TO_GPU, FROM_GPU };
uint32_t device_copy_later(int gpu, enum direction direction, void *device, void *pinned,
                           size_t bytes);
bool device_is_done(int gpu, enum direction direction, uint32_t number);
void device_fill_rows(int gpu, void *target, int byte, size_t width, size_t pitch, size_t rows);
void device_sync(int gpu);

struct pool {
  int gpu;
  uint8_t *base;
  uint32_t page_count;
  uint32_t free_count;
  uint32_t *free_pages;
  uint32_t *places;  // of each page in free_pages; TAKEN where it is not there
  uint64_t random;
  pthread_mutex_t lock;
};
struct pool *pool_of_gpu(int gpu);
uint32_t page_run(void);
uint32_t pool_take(struct pool *pool, uint32_t *pages, uint32_t count);
uint32_t pool_take_block(struct pool *pool, uint32_t *first, uint32_t count);
void pool_return(struct pool *pool, const uint32_t *pages, uint32_t count);
uint32_t pool_random(struct pool *pool, uint32_t limit);

struct nic {
  int index;
  char name[NAME_BYTES];
  char *pci_path;
  int speed_mbps;
  struct sockaddr_in address;
};
extern struct nic nics[NICS_MAX];
extern int nic_count;
extern struct sockaddr_in control_address;
extern bool has_control_address;
bool nics_find(void);
bool is_local_address(const struct sockaddr_in *address);
bool gpu_is_bound(int gpu, const char *nic);
struct traffic {
  uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes, devmem_packets, devmem_bytes;
};
void nic_count_traffic(const struct nic *nic, const struct traffic *added);
bool nic_take_socket(const struct nic *nic, char *holders, size_t holders_bytes);
void nic_return_sockets(const struct nic *nic, int count);

// The request as callers may read it: these 128 bytes keep the offsets of the original.
struct comm;
struct request {
  struct comm *comm;
  uint8_t *data;
  int32_t op;  // 0 send, 1 receive
  int32_t mem_type;
  int32_t next_socket;
  int32_t next_size;
  int32_t offset;
  int32_t size;
  int32_t size_pending;
  int32_t gpu_mem_fd;
  int32_t gpu_mem_offset;
  struct {
    bool active;
    uint64_t index;
    struct unpack_entry *entries;
    uint64_t *count;
    uint64_t count_cache;
    void *unused[4];
  } slot;
};
_Static_assert(sizeof(struct request) == 128, "request has 128 bytes");
_Static_assert(offsetof(struct request, size) == 36, "size at 36");
_Static_assert(offsetof(struct request, slot.entries) == 72, "entries at 72");
_Static_assert(offsetof(struct request, slot.count) == 80, "count at 80");

// What belongs to a request and is nobody else's business.
struct request_state {
  uint32_t posted_bytes;
  uint32_t fragments;
  uint32_t unsent_bytes;
  uint64_t end_position[SOCKETS_MAX];  // stream position after its last byte, per socket
  uint32_t page_count[SOCKETS_MAX];
  uint32_t pages[SOCKETS_MAX][UNPACK_ENTRIES];
  bool warned_host;
  bool has_copies;  // to the GPU, the last of them with this number
  uint32_t copy_number;
  uint32_t block_count;
  struct { uint32_t first, count; } blocks[UNPACK_ENTRIES];
};

struct task {
  struct request *request;
  uint32_t size;
  uint32_t moved;
  uint32_t fetched;  // from the GPU, or on its way; what is sent from host memory never is
  uint32_t message_offset;
};

// Pinned memory between a socket and a GPU, in slots that are used in turn; only with CUDA.
struct stage {
  uint8_t *memory;
  uint32_t first, count;  // slots that hold something to send
  uint32_t next;          // slot to receive into
  struct { uint32_t copy_number, begin, end; bool is_used; } slots[STAGES];
};

// Pages that lie behind each other in the bounce buffer, for what a socket receives next. A slot of
// the stage mirrors them, so that one copy fills them all, whatever the order of the pages.
struct block {
  bool is_open;
  uint32_t first, count;
  uint32_t used;        // pages that were begun
  uint32_t page_bytes;  // of the last of them: PAGE_BYTES when the next fragment begins another
  uint32_t entry;       // that describes it
  uint32_t slot;
  uint8_t order[BATCH_PAGES];  // page that is used next, from the first
};

struct data_socket {
  int fd;
  bool is_dead;
  uint32_t first, count;
  struct task tasks[TASKS_MAX];
  uint64_t moved_bytes;
  struct stage stage;
  struct block block;
};

// FIFO positions: [head, done) received and not consumed, [done, active) transmitting,
// [active, tail) posted; the one at `active` is being cut when is_cutting.
struct comm {
  bool is_send;
  struct nic *nic;
  int gpu;
  int control_fd;
  bool is_control_closed;
  int socket_count;
  int next_socket;
  struct data_socket sockets[SOCKETS_MAX];
  struct request ring[DEPTH];
  struct request_state states[DEPTH];
  uint64_t head, done, active, tail;
  bool is_cutting;
  uint64_t messages;
  uint8_t control_in[4096];
  uint32_t control_in_begin, control_in_end;
  uint8_t control_out[4096];
  uint32_t control_out_end;
  struct pool *pool;
  struct unpack_meta *meta;
  struct unpack_handle *device_handle;
  uint64_t unpack_head, unpack_tail;
  bool is_same_host;
  bool is_gpu_unbound;
  int budget_taken;
  struct traffic traffic;
  struct workers *workers;  // none before its first chunk
  uint64_t progress_ns, warned_ns, counted_ns;
  char flow[96];
};

struct mhandle {
  void *registered;
  void *data;
  int32_t type;
  int32_t gpu_mem_fd;
};

struct record {  // on the control socket, before its chunk
  uint16_t type;
  uint16_t socket;
  uint32_t size;
  uint32_t offset;
  uint32_t total;
};
_Static_assert(sizeof(struct record) == 16, "record has 16 bytes");
enum { RECORD_NORMAL = 0, RECORD_INLINE = 1 };

int setup_listen(int dev, void *handle, void **listen_comm);
int setup_connect(int dev, void *handle, void **send_comm, struct net_device_handle **device);
int setup_accept(void *listen_comm, void **recv_comm, struct net_device_handle **device);
int setup_close_listen(void *listen_comm);

struct comm *comm_create(bool is_send, struct nic *nic, int gpu, int socket_count);
void comm_connected(struct comm *comm);
void comm_make_unpack_queue(struct comm *comm, struct net_device_handle *device);
void comm_count_traffic(struct comm *comm);
int comm_close(void *comm);

// Threads that stand on the bound cores of a comm's NIC.
void workers_read(void);
void workers_start(struct comm *comm);
void workers_end(struct comm *comm);

int request_isend(void *comm, void *data, int size, int tag, void *mhandle, void **request);
int request_irecv(void *comm, int n, void **data, int *sizes, int *tags, void **mhandles,
                  void **request);
int request_test(void *request, int *done, int *sizes);
int request_consumed(void *comm, int n, void *request);

// GPU memory on its way out: fetched ahead of its turn.
bool is_staged(const struct task *task);
void stage_fetch(struct comm *comm, struct data_socket *socket);
const uint8_t *stage_peek(struct comm *comm, struct data_socket *socket, size_t *bytes);
void stage_sent(struct data_socket *socket, size_t bytes);

// GPU memory on its way in.
bool landing_open(struct comm *comm, struct data_socket *socket, uint32_t bytes);
bool landing_is_continued(const struct block *block);
void landing_add(struct request *request, struct block *block, bool is_new, uint32_t offset,
                 uint32_t length);
void landing_advance(struct comm *comm, struct data_socket *socket, struct request *request,
                     bool is_complete);
void landing_drop(struct comm *comm, struct data_socket *socket);
bool landing_is_over(struct request *request);

struct request_state *state_of(struct request *request);
struct task *socket_push(struct data_socket *socket, struct request *request, uint32_t size);
void socket_pop(struct data_socket *socket);
void socket_die(struct comm *comm, int index, const char *call, int error);
int send_progress(struct comm *comm);
bool send_is_complete(struct comm *comm, struct request *request);
int receive_progress(struct comm *comm);
void receive_publish(struct request *request);
void receive_recycle(struct comm *comm, struct request *request);

#endif
