#include "kusari/framework/cpu/packed_weights.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/core/memory.h"

namespace kusari::cpu {
namespace {

// The packed forms of the array that they are attached to.
class Packed final : public detail::Attachment {
 public:
  std::shared_ptr<void> find(const void* key, uint64_t generation) {
    const std::lock_guard lock(mutex_);
    for (const Entry& entry : entries_) {
      if (entry.key == key && entry.generation == generation) return entry.buffer;
    }
    return nullptr;
  }
  void keep(const void* key, uint64_t generation, std::shared_ptr<void> buffer) {
    constexpr size_t kMost = 8;  // a program that infers with eight batch sizes needs eight: InferenceSession's default
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const Entry& e) { return e.key == key || e.generation != generation; });
    if (entries_.size() == kMost) entries_.erase(entries_.begin());
    entries_.push_back({key, generation, std::move(buffer)});
  }

 private:
  struct Entry {
    const void* key;
    uint64_t generation;
    std::shared_ptr<void> buffer;
  };
  ForkSafeMutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace

PackedWeights::PackedWeights(const Array* kept, const void* key, size_t bytes,
                             const std::function<void(void* to)>& pack) {
  Packed* packed = nullptr;
  uint64_t generation = 0;
  if (kept != nullptr && !kept->storage().is_exposed.load(std::memory_order_relaxed)) {
    detail::Attachment* present = kept->storage().attachment.load(std::memory_order_acquire);
    if (present == nullptr) present = kept->attach(std::make_unique<Packed>());
    packed = dynamic_cast<Packed*>(present);
    generation = kept->storage().generation.load(std::memory_order_relaxed);
  }
  if (packed != nullptr && (buffer_ = packed->find(key, generation))) return;
  buffer_ = std::shared_ptr<void>(memory::allocate(bytes), [bytes](void* data) { memory::deallocate(data, bytes); });
  pack(buffer_.get());
  if (packed != nullptr) packed->keep(key, generation, buffer_);
}

}  // namespace kusari::cpu
