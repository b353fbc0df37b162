#include "kusari/cuda/libraries/kept_weights.h"

#include <memory>
#include <mutex>
#include <vector>

#include "kusari/cuda/runtime/graph.h"

namespace kusari::cuda {
namespace {

// The forms of the arrays in the storage that they are attached to.
class Kept final : public detail::Attachment {
 public:
  Array find(const Array& w, int64_t form, uint64_t generation) {
    const std::lock_guard lock(mutex_);
    for (const Entry& e : entries_) {
      if (e.data == w.raw_data() && e.form == form && e.generation == generation && e.shape == w.shape() &&
          e.strides == w.strides()) {
        return e.array;
      }
    }
    return Array();
  }
  void keep(const Array& w, int64_t form, uint64_t generation, const Array& array) {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const Entry& e) { return e.generation != generation; });
    entries_.push_back({w.raw_data(), w.shape(), w.strides(), form, generation, array});
  }

 private:
  struct Entry {
    const void* data;
    Shape shape;
    Strides strides;
    int64_t form;
    uint64_t generation;
    Array array;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace

Array kept_weights(const Array& w, bool is_fixed, int64_t form, const std::function<Array()>& make) {
  // A graph reads the weights that there are when it runs.
  const bool is_recorded = StreamCapture::current() != nullptr;
  if (!is_fixed || is_recorded || w.storage().is_exposed.load(std::memory_order_relaxed)) return make();
  detail::Attachment* present = w.storage().attachment.load(std::memory_order_acquire);
  if (present == nullptr) present = w.attach(std::make_unique<Kept>());
  Kept* const kept = dynamic_cast<Kept*>(present);
  if (kept == nullptr) return make();
  const uint64_t generation = w.storage().generation.load(std::memory_order_relaxed);
  Array array = kept->find(w, form, generation);
  if (array.is_defined()) return array;
  array = make();
  kept->keep(w, form, generation, array);
  return array;
}

}  // namespace kusari::cuda
