#include "kusari/framework/core/graph_capture.h"

#include <atomic>
#include <mutex>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/fork_safe.h"

namespace kusari {

constinit thread_local GraphCapture* GraphCapture::t_current = nullptr;

namespace {

// Memory may be given back by another thread than the one that recorded.
struct Live {
  ForkSafeMutex mutex;
  GraphCapture* first = nullptr;
};
constinit Lazy<Live> live;

uint64_t next_id() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

GraphCapture::GraphCapture() : id_{next_id()} {
  const std::scoped_lock lock(live->mutex);
  next_live_ = std::exchange(live->first, this);
}

GraphCapture::~GraphCapture() { stop_watching(); }

void GraphCapture::stop_watching() noexcept {
  const std::scoped_lock lock(live->mutex);
  GraphCapture** link = &live->first;
  while (*link != nullptr && *link != this) link = &(*link)->next_live_;
  if (*link == this) *link = next_live_;
}

void detail::note_captured_storage_freed(const Storage& storage) noexcept {
  const std::scoped_lock lock(live->mutex);
  for (GraphCapture* capture = live->first; capture != nullptr; capture = capture->next_live_) {
    if (capture->id_ == storage.capture) return capture->freed(storage);
  }
}

void static_code(const Callable<void()>& action) {
  GraphCapture* const capture = GraphCapture::current();
  if (capture != nullptr) capture->on_replay(GraphCapture::When::here, action);
  const ScopedGraphCapture none(nullptr);
  action();
}

void detail::throw_stale(const std::string& call, const Array& array) {
  throw StateError(call + ": the array of shape " + to_string(array.shape()) + " " + array.storage().stale);
}

}  // namespace kusari
