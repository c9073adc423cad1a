#include "tcpx_memory.h"

tcpx_status TcpxRegistrations::add(const TcpxRange &range, TcpxRegistration *&out) {
  std::lock_guard lock(mutex);
  auto found = known.find(range);
  if (found != known.end()) {
    out = found->second.get();
    out->users++;
    return TCPX_OK;
  }
  auto fresh = std::make_unique<TcpxRegistration>(TcpxRegistration{range, 0, "", 1});
  const tcpx_memory_kind kind = range.type == VRAM_SEG ? TCPX_MEMORY_CUDA : TCPX_MEMORY_HOST;
  tcpx_status status = tcpx_register(session, reinterpret_cast<void *>(range.addr), range.bytes,
                                     kind, TCPX_READ | TCPX_WRITE, &fresh->memory);
  if (status != TCPX_OK) return status;
  fresh->key = tcpx_describe(session, fresh->memory);
  out = fresh.get();
  known.emplace(range, std::move(fresh));
  return TCPX_OK;
}

std::string TcpxRegistrations::wayOf(const TcpxRange &range) {
  std::lock_guard lock(mutex);
  auto found = known.find(range);
  if (found == known.end()) return "";
  const char *way = tcpx_memory_way(session, found->second->memory);
  return way == nullptr ? "" : way;
}

tcpx_status TcpxRegistrations::remove(TcpxRegistration *registration, uint32_t &memory) {
  std::lock_guard lock(mutex);
  if (--registration->users > 0) return TCPX_OK;
  memory = registration->memory;
  tcpx_status status = tcpx_deregister(session, memory);
  const TcpxRange range = registration->range;
  known.erase(range);
  return status;
}
