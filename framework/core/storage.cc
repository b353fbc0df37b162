#include "kusari/framework/core/storage.h"

#include <atomic>

namespace kusari::detail {

uint64_t next_storage_id() {
  constexpr uint64_t kBatch = uint64_t{1} << 20;
  static std::atomic<uint64_t> batches{0};
  static constinit thread_local uint64_t next __attribute__((tls_model("initial-exec"))) = 0;
  if (next % kBatch == 0) next = kBatch * batches.fetch_add(1, std::memory_order_relaxed);
  return ++next;
}

bool strides_contiguous(const Shape& shape, const Strides& strides) {
  int64_t step = 1;
  for (int i = shape.ndim() - 1; i >= 0; --i) {
    if (shape[i] == 1) continue;
    if (shape[i] == 0) return true;
    if (strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

bool strides_dense(const Shape& shape, const Strides& strides) {
  int order[kMaxNdim];  // axes longer than 1, by stride
  int n = 0;
  for (int i = 0; i < shape.ndim(); ++i) {
    if (shape[i] == 0) return true;
    if (shape[i] == 1) continue;
    int at = n++;
    for (; at > 0 && strides[i] < strides[order[at - 1]]; --at) order[at] = order[at - 1];
    order[at] = i;
  }
  int64_t step = 1;
  for (int i = 0; i < n; ++i) {
    if (strides[order[i]] != step) return false;
    step *= shape[order[i]];
  }
  return true;
}

}  // namespace kusari::detail
