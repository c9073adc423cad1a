#include "tcpx_options.h"

#include <charconv>
#include <cstdlib>
#include <stdexcept>

namespace {

struct Option {
  const char *name;
  const char *fallback;
  const char *help;
};

constexpr const char *FOLDER = "service_folder";
constexpr const char *CONNECT_MS = "connect_ms";
constexpr const char *RELEASE_MS = "release_ms";
constexpr const char *LOG = "log";
constexpr const char *PROVIDER = "engine.provider";
constexpr const char *PROVIDER_VARIABLE = "NIXL_TCPX_ENGINE_PROVIDER";
constexpr const char *HELP = "help";

constexpr int MS_MAX = 600'000;

constexpr Option OPTIONS[] = {
    {FOLDER, "",
     "runtime folder of the service (tcpx serve); empty: $NIXL_TCPX_SERVICE_FOLDER, then "
     "$XDG_RUNTIME_DIR/nixl-tcpx, then /tmp/nixl-tcpx-UID"},
    {PROVIDER, "",
     "what moves the bytes: tcp, tcpx (the NCCL net plugin) or auto; empty: "
     "$NIXL_TCPX_ENGINE_PROVIDER, then the service's own choice"},
    {CONNECT_MS, "10000", "how long makeConnection waits for a peer, in ms"},
    {RELEASE_MS, "50", "how long a release waits for a transfer to be aborted, in ms"},
    {LOG, "errors", "errors: a line on stderr for what fails; none"},
    // Programs written for UCX look for it before they trust a backend with lost peers.
    {"ucx_error_handling_mode", "peer", "always peer: a lost peer is reported as such"},
};

int parseMs(const std::string &name, const std::string &text) {
  int value = 0;
  const char *end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && rest == end && value >= 0 && value <= MS_MAX) return value;
  throw std::invalid_argument(name + "=" + text + ": expected ms, 0 to " + std::to_string(MS_MAX));
}

std::string helpText() {
  std::string text;
  for (const Option &option : OPTIONS) {
    text += std::string(option.name) + ": " + option.help + "\n";
  }
  return text +
         "any name with a dot in it: a setting of the engine (flow, lane, socket, gpu, engine, "
         "plugin, tcpx, and session.nics; docs/configuration.md)\n";
}

std::string valueOf(const nixl_b_params_t &params, const char *name) {
  auto found = params.find(name);
  if (found != params.end()) return found->second;
  for (const Option &option : OPTIONS) {
    if (std::string(option.name) == name) return option.fallback;
  }
  return "";
}

std::string settingsOf(const nixl_b_params_t &params) {
  std::string lines;
  for (const auto &[name, value] : params) {
    // Names without a dot are those above, or are meant for other backends.
    if (name.find('.') == std::string::npos || name == PROVIDER) continue;
    if ((name + value).find_first_of(std::string("\n\0", 2)) != std::string::npos) {
      throw std::invalid_argument(name + ": a line break in a setting");
    }
    lines += name + "=" + value + "\n";
  }
  std::string provider = valueOf(params, PROVIDER);
  const char *variable = std::getenv(PROVIDER_VARIABLE);
  if (provider.empty() && variable != nullptr) provider = variable;
  if (!provider.empty()) lines += std::string(PROVIDER) + "=" + provider + "\n";
  return lines;
}

}  // namespace

TcpxOptions TcpxOptions::parse(const nixl_b_params_t &params) {
  std::string log = valueOf(params, LOG);
  if (log != "errors" && log != "none") {
    throw std::invalid_argument("log=" + log + ": expected errors or none");
  }
  return {valueOf(params, FOLDER), settingsOf(params),
          parseMs(CONNECT_MS, valueOf(params, CONNECT_MS)),
          parseMs(RELEASE_MS, valueOf(params, RELEASE_MS)), log == "none"};
}

nixl_b_params_t tcpxDefaultOptions() {
  nixl_b_params_t params;
  for (const Option &option : OPTIONS) params[option.name] = option.fallback;
  params[HELP] = helpText();
  return params;
}
