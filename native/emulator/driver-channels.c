// Channels of the driver: set-up of both ends, and the unpacking of a received message on the CPU.

#include <string.h>
#include <unistd.h>

#include "driver.h"

struct channel channels[CHANNELS_MAX];

int channel_count(void) { return options.nics * options.channels; }

static int nic_of(int channel) { return channel % options.nics; }

static void register_buffer(struct channel *channel, uint8_t *buffer, uint64_t bytes, int type) {
  int size = (int)((bytes + 4095) / 4096 * 4096);
  check(plugin->reg_mr(channel->comm, buffer, size, type, &channel->mhandle), "regMr");
}

void receiver_open(int peer_fd, uint8_t *buffer, uint64_t bytes) {
  uint8_t handle[NET_HANDLE_BYTES];
  struct net_properties properties;
  check(plugin->get_properties(0, &properties), "getProperties");
  bool is_host_device = properties.device_type == NET_DEVICE_HOST;
  deadline_start(SETUP_DEADLINES);
  for (int i = 0; i < channel_count(); i++) {
    check(plugin->listen(nic_of(i), handle, &channels[i].listen_comm), "listen");
    write_all(peer_fd, handle, sizeof handle);
  }
  for (int pending = channel_count(); pending > 0; usleep(1000)) {
    for (int i = 0; i < channel_count(); i++) {
      struct channel *channel = &channels[i];
      struct net_device_handle *device = is_host_device ? NULL : &channel->device;
      if (channel->comm != NULL) continue;
      check(plugin->accept(channel->listen_comm, &channel->comm, &device), "accept");
      deadline_check("accept", i, 0);
      if (channel->comm == NULL) continue;
      pending--;
      register_buffer(channel, buffer, bytes, options.memory_type);
      // The handle is the GPU's: without receives into its memory nobody needs it.
      if (device == NULL || options.memory_type == PTR_HOST) continue;
      if (device->handle == NULL) die(EXIT_PLUGIN, "accept left no device handle");
      copy_from_device(&channel->unpack, (uint64_t)(uintptr_t)device->handle,
                       sizeof channel->unpack);
    }
  }
}

void sender_open(int peer_fd, uint8_t *buffer, uint64_t bytes) {
  static uint8_t handles[CHANNELS_MAX][NET_HANDLE_BYTES];
  deadline_start(SETUP_DEADLINES);
  for (int i = 0; i < channel_count(); i++) read_all(peer_fd, handles[i], NET_HANDLE_BYTES);
  for (int pending = channel_count(); pending > 0; usleep(1000)) {
    for (int i = 0; i < channel_count(); i++) {
      struct channel *channel = &channels[i];
      if (channel->comm != NULL) continue;
      check(plugin->connect(nic_of(i), handles[i], &channel->comm, NULL), "connect");
      deadline_check("connect", i, 0);
      if (channel->comm == NULL) continue;
      pending--;
      register_buffer(channel, buffer, bytes, options.memory_type);
    }
  }
}

void channels_close(void) {
  for (int i = 0; i < channel_count(); i++) {
    struct channel *channel = &channels[i];
    check(plugin->dereg_mr(channel->comm, channel->mhandle), "deregMr");
    bool is_receiver = channel->listen_comm != NULL;
    check(is_receiver ? plugin->close_recv(channel->comm) : plugin->close_send(channel->comm),
          "close");
    if (is_receiver) check(plugin->close_listen(channel->listen_comm), "closeListen");
  }
}

// The public way to the scatter list: slot from the count of completed receives, addresses from
// the device handle. The length in the request is private and only compared.
void unpack_message(struct channel *channel, void *request, uint8_t *target, uint64_t expected) {
  uint64_t slot = channel->completed++ % UNPACK_SLOTS;
  int32_t operation = 0;
  int32_t size = 0;
  memcpy(&operation, (uint8_t *)request + 16, sizeof operation);
  memcpy(&size, (uint8_t *)request + 36, sizeof size);
  bool is_known = operation == 1;  // else another plugin keeps something else there
  if (is_known && (uint64_t)size != expected) {
    die(EXIT_MISMATCH, "request says %d bytes, expected %llu", size, (unsigned long long)expected);
  }
  if (options.memory_type == PTR_HOST || options.is_unpack_skipped) return;
  const struct unpack_meta *meta = (const struct unpack_meta *)(uintptr_t)channel->unpack.meta;
  uint64_t count = *(const volatile uint64_t *)&meta->counts[slot];
  uint64_t sum = 0;
  if (count > UNPACK_ENTRIES) die(EXIT_MISMATCH, "%llu fragments", (unsigned long long)count);
  const struct unpack_entry *entries = meta->entries[slot];
  for (uint64_t i = 0; i < count;) {
    struct unpack_entry run = entries[i++];
    // Fragments that follow each other on both sides are one copy.
    while (i < count && entries[i].source_offset == run.source_offset + run.length &&
           entries[i].target_offset == run.target_offset + run.length) {
      run.length += entries[i++].length;
    }
    if (run.target_offset + run.length > expected) {
      die(EXIT_MISMATCH, "fragment %llu reaches beyond the message", (unsigned long long)i);
    }
    copy_from_device_later(target + run.target_offset, channel->unpack.bounce + run.source_offset,
                           run.length);
    sum += run.length;
  }
  copies_wait();
  if (sum != expected) die(EXIT_MISMATCH, "fragments sum to %llu", (unsigned long long)sum);
}
