#include "kusari/iterators/block_ring.h"

#include <utility>

#include <unistd.h>

#include "kusari/framework/core/backend.h"

namespace kusari::iterators {

SharedBlock::SharedBlock(Mapping memory, int64_t offset, const Device& device)
    : memory_{std::move(memory)},
      offset_{offset},
      device_{device},
      is_pinned_{!device.is_cpu() && device.backend().pin(memory_.data(), static_cast<size_t>(memory_.bytes()))},
      owner_{getpid()} {}

SharedBlock::~SharedBlock() {
  if (getpid() != owner_) return;  // a forked process has a copy of this object, but the block is not its to discard
  if (is_pinned_) device_.backend().unpin(memory_.data());
  // Processes that were forked while it was mapped may have it mapped still.
  memory_.discard();
}

void SharedBlock::release() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

bool SharedBlock::is_free() const {
  return references_.load(std::memory_order_acquire) == 1 &&
         !(is_pinned_ && device_.backend().is_copied_from(memory_.data()));
}

datasets::Example SharedBlock::wrap(const BatchLayout& layout, void* planes) {
  for (int k = 0; k < layout.components(); ++k) retain();
  return layout.wrap(
      planes, [](void* block) { static_cast<SharedBlock*>(block)->release(); }, this);
}

IntrusivePtr<SharedBlock> BlockRing::take(int64_t bytes, const Device& device) {
  IntrusivePtr<SharedBlock> taken;
  size_t free_blocks = 0;
  std::erase_if(blocks_, [&](const IntrusivePtr<SharedBlock>& block) {
    if (!block->is_free()) return false;
    const bool fits = block->bytes() >= bytes && block->bytes() / 2 <= whole_pages(bytes) && block->device() == device;
    if (fits && !taken) {
      taken = block;
      return false;
    }
    return !fits || ++free_blocks > kMaxFree;
  });
  if (taken) return taken;
  const int64_t size = whole_pages(bytes);
  Mapping memory(file_, file_bytes_, size);  // first, because it is undone by itself
  reserve(file_, file_bytes_, size);
  const int64_t offset = std::exchange(file_bytes_, file_bytes_ + size);
  return blocks_.emplace_back(new SharedBlock(std::move(memory), offset, device));
}

}  // namespace kusari::iterators
