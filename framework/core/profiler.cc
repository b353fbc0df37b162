#include "kusari/framework/core/profiler.h"

#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/environment.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"

namespace kusari::profiler {
namespace {

// NVTX's calls are in the CUDA backend's library, which is loaded when the first range begins.
class Nvtx final : public RangeSink {
 public:
  static Nvtx& get() {
    static Nvtx* const nvtx = new Nvtx;  // ranges may end after every static is gone
    return *nvtx;
  }
  void push(const char* text) noexcept override {
    if (Backend* const to = backend()) to->push_range(text);
  }
  void pop() noexcept override {
    if (Backend* const to = backend()) to->pop_range();
  }
  static Backend* backend() noexcept {
    static Backend* const loaded = [] {
      Backend* const found = kusari::detail::cuda_backend();
      if (found == nullptr) log::warn("profiler: libkusari_cuda.so cannot be loaded, so there are no NVTX ranges");
      return found;
    }();
    return loaded;
  }
};

RangeSink* sink_at_start() {
  try {
    return environment::flag("KUSARI_NVTX").value_or(false) ? &Nvtx::get() : nullptr;
  } catch (const ValueError&) {
    return nullptr;  // nobody could catch it here; the first use of the configuration throws it again
  }
}

[[maybe_unused]] const RangeSink* const set_at_start = [] {
  RangeSink* const sink = sink_at_start();
  if (sink != nullptr) detail::range_sink = sink;
  return sink;
}();

}  // namespace

constinit std::atomic<RangeSink*> detail::range_sink{nullptr};

RangeSink::~RangeSink() = default;

RangeSink* set_range_sink(RangeSink* sink) noexcept { return detail::range_sink.exchange(sink); }

void use_nvtx(bool use) {
  if (use && Nvtx::backend() == nullptr) return;
  set_range_sink(use ? &Nvtx::get() : nullptr);
}

}  // namespace kusari::profiler
