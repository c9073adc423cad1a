// What a socket sends of GPU memory: fetched into slots of pinned memory as soon as its chunk is
// queued, several ahead, so that one is sent while the next are on their way.

#include "emulator.h"

bool is_staged(const struct task *task) {
  return task->request->mem_type == PTR_CUDA && device_is_cuda();
}

static void fetch(struct comm *comm, struct data_socket *socket, struct task *task) {
  struct stage *stage = &socket->stage;
  uint32_t index = (stage->first + stage->count++) % STAGES;
  uint32_t rest = task->size - task->fetched;
  uint32_t bytes = rest < STAGE_BYTES ? rest : STAGE_BYTES;
  uint8_t *source = task->request->data + task->message_offset + task->fetched;
  stage->slots[index].begin = 0;
  stage->slots[index].end = bytes;
  stage->slots[index].copy_number = device_copy_later(
      comm->gpu, FROM_GPU, source, stage->memory + (size_t)index * STAGE_BYTES, bytes);
  task->fetched += bytes;
}

// Starts as many copies as there are slots, in the order in which the bytes will be sent.
void stage_fetch(struct comm *comm, struct data_socket *socket) {
  struct stage *stage = &socket->stage;
  for (uint32_t i = 0; i < socket->count && stage->count < STAGES;) {
    struct task *task = &socket->tasks[(socket->first + i) % TASKS_MAX];
    if (!is_staged(task) || task->fetched == task->size) {
      i++;
      continue;
    }
    if (stage->memory == NULL) stage->memory = pinned_alloc(comm->gpu, STAGES * STAGE_BYTES, NULL);
    fetch(comm, socket, task);
  }
}

// The next bytes to send; NULL while their copy is under way.
const uint8_t *stage_peek(struct comm *comm, struct data_socket *socket, size_t *bytes) {
  const struct stage *stage = &socket->stage;
  uint32_t index = stage->first;
  if (!device_is_done(comm->gpu, FROM_GPU, stage->slots[index].copy_number)) return NULL;
  *bytes = stage->slots[index].end - stage->slots[index].begin;
  return stage->memory + (size_t)index * STAGE_BYTES + stage->slots[index].begin;
}

void stage_sent(struct data_socket *socket, size_t bytes) {
  struct stage *stage = &socket->stage;
  uint32_t index = stage->first;
  stage->slots[index].begin += (uint32_t)bytes;
  if (stage->slots[index].begin < stage->slots[index].end) return;
  stage->first = (index + 1) % STAGES;
  stage->count--;
}
