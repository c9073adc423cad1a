// The backend itself: memory, peers, messages. Transfers are in tcpx_backend_xfer.cpp.

#include "tcpx_backend.h"

#include <exception>
#include <thread>

namespace {

constexpr size_t NAME_BYTES = 256;
constexpr size_t FIRST_ROOM_BYTES = 4096;
constexpr size_t TELEMETRY_BYTES = 16384;
// A ring that stays full this long belongs to a service that does not turn any more.
constexpr std::chrono::milliseconds FULL_MAX(2000);
constexpr std::chrono::microseconds FULL_PAUSE(50);

bool isMoved(nixl_mem_t type) { return type == DRAM_SEG || type == VRAM_SEG; }

}  // namespace

nixlTcpxEngine::nixlTcpxEngine(const nixlBackendInitParams *init) : nixlBackendEngine(init) {
  log = std::make_unique<TcpxLog>(false, localAgent);
  initErr = true;
  guarded("create", [&] {
    open(init);
    return NIXL_SUCCESS;
  });
}

void nixlTcpxEngine::open(const nixlBackendInitParams *init) {
  options = TcpxOptions::parse(*init->customParams);
  log = std::make_unique<TcpxLog>(options.isQuiet, localAgent);
  const char *folder = options.folder.empty() ? nullptr : options.folder.c_str();
  // A name that ends early would be another's.
  if (localAgent.find('\0') != std::string::npos) {
    log->say("create: the agent's name holds a zero byte");
    return;
  }
  tcpx_status status =
      tcpx_open(folder, localAgent.c_str(), options.settings.c_str(), &session.handle);
  if (log->report(status, "attach to the service (tcpx serve)") != NIXL_SUCCESS) return;
  registrations = std::make_unique<TcpxRegistrations>(session.handle);
  messageRoom.resize(FIRST_ROOM_BYTES);
  keeper = TcpxKeeper::start(session.handle);
  initErr = false;
}

nixlTcpxEngine::~nixlTcpxEngine() {
  TcpxKeeper::stop(keeper);
  if (!enableTelemetry_ || initErr) return;
  guarded("tell telemetry", [&] {
    const std::string text = telemetry();
    if (!text.empty()) log->say("telemetry " + text);
    return NIXL_SUCCESS;
  });
}

std::string nixlTcpxEngine::telemetry() const {
  char text[TELEMETRY_BYTES] = "";
  return tcpx_telemetry(session.handle, text, sizeof text) == TCPX_OK ? text : "";
}

nixl_status_t nixlTcpxEngine::guarded(const char *attempted,
                                      const std::function<nixl_status_t()> &work) const noexcept {
  try {
    return work();
  } catch (const std::exception &error) {
    log->say(std::string(attempted) + ": " + error.what());
    return NIXL_ERR_BACKEND;
  }
}

nixl_mem_list_t nixlTcpxEngine::getSupportedMems() const { return {DRAM_SEG, VRAM_SEG}; }

// ---- Memory ------------------------------------------------------------------------------------

nixl_status_t nixlTcpxEngine::registerMem(const nixlBlobDesc &memory, const nixl_mem_t &type,
                                          nixlBackendMD *&out) {
  if (!isMoved(type)) return NIXL_ERR_NOT_SUPPORTED;
  return guarded("register memory", [&] {
    TcpxRegistration *registration = nullptr;
    const TcpxRange range = {type, memory.devId, memory.addr, memory.len};
    tcpx_status status = registrations->add(range, registration);
    if (status != TCPX_OK) {
      return log->report(status, "register " + std::to_string(memory.len) + " bytes");
    }
    out = new TcpxLocalMD(registration);
    return NIXL_SUCCESS;
  });
}

nixl_status_t nixlTcpxEngine::deregisterMem(nixlBackendMD *md) {
  return guarded("deregister memory", [&] {
    std::unique_ptr<TcpxLocalMD> local(static_cast<TcpxLocalMD *>(md));
    uint32_t memory = 0;
    tcpx_status status = registrations->remove(local->registration, memory);
    // The agent forgets it in any case, so that somebody else must try again.
    if (status == TCPX_ERR_BUSY) keeper->keepMemory(memory);
    return log->report(status, "deregister memory");
  });
}

nixl_status_t nixlTcpxEngine::getPublicData(const nixlBackendMD *md, std::string &text) const {
  return guarded("describe memory", [&] {
    text = static_cast<const TcpxLocalMD *>(md)->registration->key;
    return NIXL_SUCCESS;
  });
}

nixl_status_t nixlTcpxEngine::loadLocalMD(nixlBackendMD *input, nixlBackendMD *&output) {
  return guarded("load own memory", [&] {
    const TcpxRegistration &own = *static_cast<TcpxLocalMD *>(input)->registration;
    output = new TcpxTargetMD(localAgent, own.range.addr, own.range.bytes, own.key);
    return NIXL_SUCCESS;
  });
}

nixl_status_t nixlTcpxEngine::loadRemoteMD(const nixlBlobDesc &input, const nixl_mem_t &type,
                                           const std::string &agent, nixlBackendMD *&output) {
  if (!isMoved(type)) return NIXL_ERR_NOT_SUPPORTED;
  return guarded("load memory of a peer", [&] {
    auto peer = peerOf(agent);
    if (peer == nullptr) return NIXL_ERR_NOT_FOUND;
    if (input.metaInfo.find('\0') != std::string::npos) return NIXL_ERR_MISMATCH;
    auto target = std::make_unique<TcpxTargetMD>(agent, input.addr, input.len, input.metaInfo);
    uint32_t region = 0;
    tcpx_status status = regionOf(*target, peer->number, region);
    if (status != TCPX_OK) {
      const nixl_status_t answer = log->report(status, "load memory of " + agent);
      return status == TCPX_ERR_ARGUMENT ? NIXL_ERR_MISMATCH : answer;
    }
    output = target.release();
    return NIXL_SUCCESS;
  });
}

nixl_status_t nixlTcpxEngine::queryMem(const nixl_reg_dlist_t &ranges,
                                       std::vector<nixl_query_resp_t> &answers) const {
  return guarded("query memory", [&] {
    const std::string used = telemetry();
    for (int i = 0; i < ranges.descCount(); i++) {
      const nixlBlobDesc &one = ranges[static_cast<size_t>(i)];
      const std::string way =
          registrations->wayOf({ranges.getType(), one.devId, one.addr, one.len});
      if (way.empty()) answers.emplace_back(std::nullopt);
      else answers.emplace_back(nixl_b_params_t{{"way", way}, {"telemetry", used}});
    }
    return NIXL_SUCCESS;
  });
}

tcpx_status nixlTcpxEngine::regionOf(TcpxTargetMD &target, uint32_t peer, uint32_t &region) const {
  std::lock_guard lock(regionsMutex);
  tcpx_status status = TCPX_OK;
  if (target.region == 0) {
    status = tcpx_load_region(session.handle, peer, target.key.c_str(), target.bytes,
                              &target.region);
  }
  region = target.region;
  return status;
}

nixl_status_t nixlTcpxEngine::unloadMD(nixlBackendMD *md) {
  return guarded("unload memory", [&] {
    std::unique_ptr<TcpxTargetMD> target(static_cast<TcpxTargetMD *>(md));
    // Gone already where its peer was disconnected first, or the service is.
    if (target->region != 0) tcpx_unload_region(session.handle, target->region);
    return NIXL_SUCCESS;
  });
}

// ---- Peers -------------------------------------------------------------------------------------

nixl_status_t nixlTcpxEngine::getConnInfo(std::string &text) const {
  return guarded("describe the connection", [&] {
    const char *own = tcpx_conn_info(session.handle);
    // In a forked child there is none.
    if (own == nullptr) return log->report(tcpx_alive(session.handle), "describe the connection");
    text = own;
    return NIXL_SUCCESS;
  });
}

tcpx_status nixlTcpxEngine::loadPeer(const std::string &agent, const char *info) const {
  std::unique_lock lock(peersMutex);
  uint32_t number = 0;
  tcpx_status status = tcpx_load_peer(session.handle, agent.c_str(), info, &number);
  if (status == TCPX_OK && !peers.contains(agent)) {
    peers.emplace(agent, std::make_shared<TcpxPeer>(number));
  }
  return status;
}

std::shared_ptr<TcpxPeer> nixlTcpxEngine::peerOf(const std::string &agent) const {
  for (int i = 0; i < 2; i++) {
    {
      std::shared_lock lock(peersMutex);
      auto found = peers.find(agent);
      if (found != peers.end()) return found->second;
    }
    const bool isSelf = agent == localAgent;
    if (!isSelf || loadPeer(agent, tcpx_conn_info(session.handle)) != TCPX_OK) return nullptr;
  }
  return nullptr;
}

nixl_status_t nixlTcpxEngine::loadRemoteConnInfo(const std::string &agent,
                                                 const std::string &info) {
  return guarded("load a peer", [&] {
    if ((agent + info).find('\0') != std::string::npos) return NIXL_ERR_MISMATCH;
    tcpx_status status = loadPeer(agent, info.c_str());
    const nixl_status_t answer = log->report(status, "load " + agent);
    return status == TCPX_ERR_ARGUMENT ? NIXL_ERR_MISMATCH : answer;
  });
}

nixl_status_t nixlTcpxEngine::connect(const std::string &agent) {
  // To itself the connection is made by the first transfer: most agents make none.
  if (agent == localAgent) return NIXL_SUCCESS;
  return guarded("connect", [&] {
    auto peer = peerOf(agent);
    if (peer == nullptr) return NIXL_ERR_NOT_FOUND;
    tcpx_status status = tcpx_connect(session.handle, peer->number, options.connectMs);
    return log->report(status, "connect to " + agent);
  });
}

nixl_status_t nixlTcpxEngine::disconnect(const std::string &agent) {
  return guarded("disconnect", [&] {
    std::unique_lock lock(peersMutex);
    auto found = peers.find(agent);
    if (found == peers.end()) return agent == localAgent ? NIXL_SUCCESS : NIXL_ERR_NOT_FOUND;
    const uint32_t number = found->second->number;
    peers.erase(found);
    return nixlStatusOf(tcpx_disconnect(session.handle, number));
  });
}

// ---- Messages ----------------------------------------------------------------------------------

nixl_status_t nixlTcpxEngine::genNotif(const std::string &agent, const std::string &message) const {
  return guarded("notify", [&] {
    if (agent == localAgent) {
      std::lock_guard lock(inboxMutex);
      ownMessages.emplace_back(agent, message);
      return NIXL_SUCCESS;
    }
    auto peer = peerOf(agent);
    if (peer == nullptr) return NIXL_ERR_NOT_FOUND;
    const auto end = std::chrono::steady_clock::now() + FULL_MAX;
    for (;;) {
      tcpx_status status =
          tcpx_notify(session.handle, peer->number, message.data(), message.size());
      if (status != TCPX_ERR_FULL || std::chrono::steady_clock::now() > end) {
        return log->report(status, "notify " + agent);
      }
      std::this_thread::sleep_for(FULL_PAUSE);
    }
  });
}

nixl_status_t nixlTcpxEngine::getNotifs(notif_list_t &list) {
  return guarded("take notifications", [&] {
    std::lock_guard lock(inboxMutex);
    for (auto &message : ownMessages) list.push_back(std::move(message));
    ownMessages.clear();
    for (;;) {
      tcpx_status status = takeNotification(list);
      if (status == TCPX_IN_PROGRESS) return NIXL_SUCCESS;
      if (status != TCPX_OK) return nixlStatusOf(status);
    }
  });
}

tcpx_status nixlTcpxEngine::takeNotification(notif_list_t &list) {
  char name[NAME_BYTES];
  for (;;) {
    size_t nameBytes = sizeof name, bytes = messageRoom.size();
    tcpx_status status = tcpx_next_notification(session.handle, name, &nameBytes,
                                                messageRoom.data(), &bytes);
    if (status == TCPX_OK) {
      list.emplace_back(std::string(name, nameBytes - 1), std::string(messageRoom.data(), bytes));
    }
    if (status != TCPX_ERR_ARGUMENT || bytes <= messageRoom.size()) return status;
    messageRoom.resize(bytes);
  }
}
