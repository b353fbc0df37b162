#include "kusari/framework/static_graph/arena.h"

#include <algorithm>
#include <mutex>
#include <unordered_set>

#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/core/memory.h"
#include "kusari/framework/core/storage.h"

namespace kusari::graphs {

using kusari::detail::Storage;

namespace {

// Below this, what the pools hold is not worth asking the system again.
constexpr size_t kLargeArena = size_t{1} << 20;

void* allocate(const Device& device, size_t bytes) {
  if (bytes >= kLargeArena) device.backend().release_cached(device.index());
  return device.backend().allocate(device.index(), bytes);
}

void free_part(Storage* storage) noexcept {
  auto* const keeper = static_cast<Arena*>(storage->context);
  memory::destroy(storage);
  if (keeper != nullptr) keeper->release();
}

struct Texts {
  ForkSafeMutex mutex;
  std::unordered_set<std::string> known;
};
constinit Lazy<Texts> texts;

}  // namespace

const char* kept_text(const std::string& text) {
  const std::lock_guard lock(texts->mutex);
  return texts->known.insert(text).first->c_str();
}

const char* stale_text(const std::string& graph_name) {
  return kept_text("was computed by an earlier call of static graph '" + graph_name +
                   "', which has been called again since and works in the same memory; use it before, or copy it");
}

IntrusivePtr<Arena> Arena::create(const Device& device, size_t bytes) {
  return IntrusivePtr<Arena>::adopt(memory::create<Arena>(device, bytes));
}

Arena::Arena(const Device& device, size_t bytes)
    : device_{device}, bytes_{bytes}, data_{static_cast<char*>(allocate(device, bytes))} {}

Arena::~Arena() { device_.backend().deallocate(device_.index(), data_, bytes_); }

void Arena::release() noexcept {
  if (kusari::detail::drop_reference(references_)) memory::destroy(this);
}

Storage* make_storage(const Device& device, void* data, size_t bytes, Arena* keeper) {
  auto* const storage = memory::create<Storage>(device);
  storage->data = data;
  storage->bytes = bytes;
  storage->id = kusari::detail::next_storage_id();
  storage->free = free_part;
  storage->context = keeper;
  if (keeper != nullptr) keeper->retain();
  return storage;
}

char* Scratch::reserve(const Device& device, size_t bytes) {
  const auto arena =
      std::find_if(arenas_.begin(), arenas_.end(), [&](const IntrusivePtr<Arena>& a) { return a->device() == device; });
  if (arena == arenas_.end()) return arenas_.emplace_back(Arena::create(device, bytes))->data();
  if ((*arena)->bytes() < bytes) {
    // The old one goes first: both at once would be the peak.
    arenas_.erase(arena);
    return arenas_.emplace_back(Arena::create(device, bytes))->data();
  }
  return (*arena)->data();
}

}  // namespace kusari::graphs
