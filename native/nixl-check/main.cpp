#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <sstream>

#include "check.h"

nixlBackendPlugin *plugin;
nixlBackendEngine *engine;

void reply(nixl_status_t status, const std::string &text) {
  std::cout << static_cast<int>(status) << ' ' << text << std::endl;
}

size_t number(const std::string &word) { return std::stoull(word); }

namespace {

// Connection info and agent names are the first words; lists are sorted, to be compared.
std::string joinParams(const nixl_b_params_t &params) {
  std::vector<std::string> lines;
  for (const auto &[name, value] : params) lines.push_back(name + "=" + value);
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (std::string &line : lines) {
    std::replace(line.begin(), line.end(), '\n', ';');
    text += line + "|";
  }
  return text;
}

// create AGENT [NAME=VALUE …]
void create(const Words &words) {
  nixl_b_params_t params;
  for (size_t i = 2; i < words.size(); i++) {
    const size_t equals = words[i].find('=');
    params[words[i].substr(0, equals)] = words[i].substr(equals + 1);
  }
  nixlBackendInitParams init;
  init.localAgent = words[1];
  init.type = "TCPX";
  init.enableTelemetry_ = params.erase("telemetry") > 0;
  init.customParams = &params;
  engine = plugin->create_engine(&init);
  if (engine == nullptr || engine->getInitErr()) {
    if (engine != nullptr) plugin->destroy_engine(engine);
    engine = nullptr;
    return reply(NIXL_ERR_BACKEND, "not created");
  }
  std::string info;
  const nixl_status_t status = engine->getConnInfo(info);
  reply(status, info);
}

void describe() {
  std::ostringstream text;
  text << plugin->api_version << ' ' << plugin->get_plugin_name() << ' '
       << plugin->get_plugin_version() << ' ' << plugin->get_backend_mems().size() << ' '
       << joinParams(plugin->get_backend_options());
  reply(NIXL_SUCCESS, text.str());
}

void describeEngine() {
  std::ostringstream text;
  text << engine->getType() << ' ' << engine->supportsRemote() << engine->supportsLocal()
       << engine->supportsNotif();
  for (nixl_mem_t type : engine->getSupportedMems()) text << ' ' << type;
  reply(NIXL_SUCCESS, text.str());
}

// What NIXL may ask of every backend and this one does not offer.
void askForMore() {
  std::vector<nixl_query_resp_t> answers;
  nixlMemViewH view = nullptr;
  std::ostringstream text;
  text << engine->queryMem(nixl_reg_dlist_t(DRAM_SEG), answers) << ' '
       << engine->prepMemView(nixl_meta_dlist_t(DRAM_SEG), view) << ' '
       << engine->prepMemView(nixl_remote_meta_dlist_t(DRAM_SEG), view);
  engine->releaseMemView(view);
  reply(NIXL_SUCCESS, text.str());
}

// A child that destroys the engine it has inherited: how it ended.
void forkChild() {
  std::cout.flush();
  const pid_t child = fork();
  if (child == 0) {
    static uint8_t byte;
    nixlBackendMD *md = nullptr;
    const nixlBlobDesc desc(reinterpret_cast<uintptr_t>(&byte), 1, 0, "");
    const bool isRefused = engine->registerMem(desc, DRAM_SEG, md) == NIXL_ERR_BACKEND;
    alarm(5);
    plugin->destroy_engine(engine);
    _exit(isRefused ? 0 : 1);
  }
  int outcome = 0;
  waitpid(child, &outcome, 0);
  reply(NIXL_SUCCESS, std::to_string(outcome));
}

void obey(const Words &words, const std::string &rest) {
  const std::string &verb = words[0];
  if (verb == "plugin") return describe();
  if (verb == "create") return create(words);
  if (engine == nullptr) return reply(NIXL_ERR_INVALID_PARAM, "no engine");
  if (verb == "engine") return describeEngine();
  if (verb == "more") return askForMore();
  if (verb == "fork") return forkChild();
  if (verb == "destroy") {
    plugin->destroy_engine(engine);
    engine = nullptr;
    return reply(NIXL_SUCCESS, "destroyed");
  }
  if (!onMemory(words) && !onTransfer(words) && !onPeer(words, rest)) {
    reply(NIXL_ERR_INVALID_PARAM, "unknown");
  }
}

// NIXL's own way of loading: local symbols, and never unloaded.
nixlBackendPlugin *load(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) throw std::runtime_error(dlerror());
  auto init = reinterpret_cast<nixlBackendPlugin *(*)()>(dlsym(library, "nixl_plugin_init"));
  auto fini = reinterpret_cast<void (*)()>(dlsym(library, "nixl_plugin_fini"));
  if (init == nullptr || fini == nullptr) throw std::runtime_error("a symbol is missing");
  return init();
}

}  // namespace

int main(int count, char **arguments) {
  if (count != 2) return std::cerr << "nixl-check PLUGIN\n", 2;
  plugin = load(arguments[1]);
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream stream(line);
    Words words;
    for (std::string word; stream >> word;) words.push_back(word);
    if (words.empty()) continue;
    // What follows the second word, spaces included.
    const size_t first = line.find(' ');
    const size_t second = first == std::string::npos ? first : line.find(' ', first + 1);
    obey(words, second == std::string::npos ? "" : line.substr(second + 1));
  }
  return 0;
}
