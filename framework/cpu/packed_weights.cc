#include "kusari/framework/cpu/packed_weights.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/core/memory.h"

namespace kusari::cpu {
namespace {

// Which elements of a block of memory an array is: several may share the block.
struct View {
  explicit View(const Array& a) : first{a.raw_data()}, dtype{a.dtype()}, shape{a.shape()}, strides{a.strides()} {}
  friend bool operator==(const View& a, const View& b) {
    return a.first == b.first && a.dtype == b.dtype && a.shape == b.shape && a.strides == b.strides;
  }
  const void* first;
  Dtype dtype;
  Shape shape;
  Strides strides;
};

// The packed forms of the arrays whose block of memory they are attached to.
class Packed final : public detail::Attachment {
 public:
  std::shared_ptr<void> find(const View& view, const void* key, const std::string& variant, uint64_t generation) {
    const std::lock_guard lock(mutex_);
    for (const Entry& entry : entries_) {
      if (entry.key == key && entry.generation == generation && entry.view == view && entry.variant == variant) {
        return entry.buffer;
      }
    }
    return nullptr;
  }
  void keep(const View& view, const void* key, std::string variant, uint64_t generation, std::shared_ptr<void> buffer) {
    constexpr int kMostOfView = 8;  // a program that infers with eight batch sizes: InferenceSession's default
    constexpr size_t kMost = 256;
    const std::lock_guard lock(mutex_);
    int of_view = 0;
    for (const Entry& e : entries_) of_view += e.view == view ? 1 : 0;
    std::erase_if(entries_, [&](const Entry& e) {
      if (e.generation != generation) return true;
      return e.view == view && ((e.key == key && e.variant == variant) || of_view-- >= kMostOfView);
    });
    if (entries_.size() >= kMost) entries_.erase(entries_.begin());
    entries_.push_back({view, key, std::move(variant), generation, std::move(buffer)});
  }

 private:
  struct Entry {
    View view;
    const void* key;
    std::string variant;
    uint64_t generation;
    std::shared_ptr<void> buffer;
  };
  ForkSafeMutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace

PackedWeights::PackedWeights(const Array* kept, const void* key, std::string variant, size_t bytes,
                             const std::function<void(void* to)>& pack) {
  Packed* packed = nullptr;
  uint64_t generation = 0;
  if (kept != nullptr && !kept->storage().is_exposed.load(std::memory_order_relaxed)) {
    detail::Attachment* present = kept->storage().attachment.load(std::memory_order_acquire);
    if (present == nullptr) present = kept->attach(std::make_unique<Packed>());
    packed = dynamic_cast<Packed*>(present);
    generation = kept->storage().generation.load(std::memory_order_relaxed);
  }
  if (packed != nullptr && (buffer_ = packed->find(View(*kept), key, variant, generation))) return;
  buffer_ = std::shared_ptr<void>(memory::allocate(bytes), [bytes](void* data) { memory::deallocate(data, bytes); });
  pack(buffer_.get());
  if (packed != nullptr) packed->keep(View(*kept), key, std::move(variant), generation, buffer_);
}

}  // namespace kusari::cpu
