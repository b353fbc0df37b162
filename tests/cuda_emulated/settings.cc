#include "settings.h"

#include <cstdlib>
#include <cstring>

namespace kusari::cuda::emulated {
namespace {

template <class T>
void read(const char* name, T& value) {
  if (const char* text = std::getenv(name); text != nullptr && *text != '\0') {
    value = static_cast<T>(std::strtoull(text, nullptr, 10));
  }
}

}  // namespace

const Settings& settings() {
  static const Settings object = [] {
    Settings s;
    read("KUSARI_EMULATED_DEVICES", s.devices);
    read("KUSARI_EMULATED_MEMORY", s.memory);
    read("KUSARI_EMULATED_MULTIPROCESSORS", s.multiprocessors);
    read("KUSARI_EMULATED_PROTECT", s.protect);
    read("KUSARI_EMULATED_EXECUTE", s.execute);
    read("KUSARI_EMULATED_TF32", s.rounds_tf32);
    read("KUSARI_EMULATED_TRACE", s.trace);
    constexpr char kDeferred[] = "deferred";
    if (const char* text = std::getenv("KUSARI_EMULATED_STREAMS");
        text != nullptr && std::strncmp(text, kDeferred, sizeof(kDeferred) - 1) == 0) {
      s.defers = s.execute;
      text += sizeof(kDeferred) - 1;
      if (*text == ':') s.stream_seed = std::strtoull(text + 1, nullptr, 10);
    }
#if defined(__SANITIZE_ADDRESS__)
    s.protect = false;  // red zones around each block instead
#endif
    return s;
  }();
  return object;
}

}  // namespace kusari::cuda::emulated
