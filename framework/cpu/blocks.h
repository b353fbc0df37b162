#pragma once

#include <cstdint>

#include "kusari/framework/core/array.h"
#include "kusari/framework/cpu/isa/loops.h"

namespace kusari::cpu {

/// The element types that loops compute in.
enum class Compute { float32, float64, int64 };

constexpr Dtype dtype_of_compute(Compute compute) {
  return compute == Compute::float32 ? Dtype::float32 : (compute == Compute::float64 ? Dtype::float64 : Dtype::int64);
}
/// The type in which values of `dtype` are computed.
constexpr Compute compute_of(Dtype dtype) {
  return dtype == Dtype::float64 ? Compute::float64 : (is_floating(dtype) ? Compute::float32 : Compute::int64);
}
/// The type for a formula over both: float64 beats float32 beats int64.
constexpr Compute widest(Compute a, Compute b) {
  if (a == Compute::float64 || b == Compute::float64) return Compute::float64;
  return a == Compute::float32 || b == Compute::float32 ? Compute::float32 : Compute::int64;
}

/// A table's entry (PointwiseLoops, ReductionLoops, ...) for a compute type.
template <class Loops>
const auto& loop_of(const Loops& loops, Compute compute) {
  return compute == Compute::float32 ? loops.f32 : (compute == Compute::float64 ? loops.f64 : loops.i64);
}

/// Elements of a range that one thread works on at a time; smaller arrays stay on one thread.
inline constexpr int64_t kThreadChunk = 32768;

/// Elements converted or gathered at a time.
inline constexpr int64_t kBlock = 512;
inline constexpr int64_t kBlockBytes = kBlock * 8;

/// a / b rounded up; b is positive.
inline int64_t ceil_divide(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }
/// n rounded up to a multiple of step.
inline int64_t round_up(int64_t n, int64_t step) { return ceil_divide(n, step) * step; }

/// The loop that converts `from` to `to`; also for equal types, which it copies.
ConvertLoop convert_loop(Dtype from, Dtype to);

/// Reads elements of any dtype and stride as contiguous elements of a compute type.
class BlockReader {
 public:
  BlockReader() = default;
  BlockReader(Dtype dtype, int64_t stride_bytes, Compute compute);
  /// Whether elements can be used where they lie, without a buffer.
  bool is_direct() const noexcept { return direct_; }
  /// n <= kBlock elements from `from`, in place when direct, else in `buffer` (kBlockBytes).
  const void* read(const char* from, int64_t n, void* buffer) const;

 private:
  int itemsize_ = 0;
  int64_t stride_ = 0;
  bool direct_ = false;
  ConvertLoop convert_ = nullptr;  // null where the dtype is the compute type
};

/// Writes contiguous elements of a compute type to elements of any dtype and stride.
class BlockWriter {
 public:
  BlockWriter() = default;
  BlockWriter(Dtype dtype, int64_t stride_bytes, Compute compute);
  bool is_direct() const noexcept { return direct_; }
  void write(const void* buffer, int64_t n, char* to) const;

 private:
  int itemsize_ = 0;
  int64_t stride_ = 0;
  bool direct_ = false;
  ConvertLoop convert_ = nullptr;  // null where the dtype is the compute type
};

/// Copies n elements of `itemsize` bytes between strided places.
void copy_strided(const char* from, int64_t from_stride, char* to, int64_t to_stride, int64_t n, int itemsize);

}  // namespace kusari::cpu
