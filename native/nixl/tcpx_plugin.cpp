// What NIXL looks for in the file: libplugin_TCPX.so.

#include <new>

#include "backend/backend_plugin.h"
#include "tcpx_backend.h"

namespace {

nixlBackendEngine *createEngine(const nixlBackendInitParams *init) {
  try {
    return new nixlTcpxEngine(init);
  } catch (const std::exception &) {
    return nullptr;
  }
}

void destroyEngine(nixlBackendEngine *engine) { delete engine; }

nixlBackendPlugin plugin = {
    NIXL_PLUGIN_API_VERSION,
    createEngine,
    destroyEngine,
    [] { return "TCPX"; },
    [] { return tcpx_version(); },
    tcpxDefaultOptions,
    [] { return nixl_mem_list_t{DRAM_SEG, VRAM_SEG}; },
};

}  // namespace

extern "C" NIXL_PLUGIN_EXPORT nixlBackendPlugin *nixl_plugin_init() { return &plugin; }

extern "C" NIXL_PLUGIN_EXPORT void nixl_plugin_fini() {}
