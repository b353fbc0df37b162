#pragma once

#include <cstdint>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/device.h"
#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shape.h"
#include "kusari/framework/datasets/dataset.h"
#include "kusari/iterators/iterator.h"

namespace kusari::iterators {

/// How the examples of a batch lie in memory: one plane per component, with the examples' arrays in it one after the
/// other, so that a plane is the component of the whole batch. Images (C, H, W) whose memory is (H, W, C) keep that
/// order. Trivially copyable: it crosses the borders of processes.
class KUSARI_API BatchLayout {
 public:
  static constexpr int kMaxComponents = 16;
  static constexpr int64_t kAlignment = 64;  // of planes, in bytes

  /// No layout: no example fits.
  BatchLayout() noexcept = default;
  /// That of examples like this one; none when it has more than kMaxComponents components, or one that is undefined, on
  /// another device than the CPU, or of kMaxNdim axes, or when its size has no number.
  static BatchLayout of(const datasets::Example& example, int64_t batch_size);

  bool is_defined() const noexcept { return components_ > 0; }
  int components() const noexcept { return components_; }
  int64_t batch_size() const noexcept { return batch_size_; }
  /// Of the planes in one block, which begins aligned to kAlignment.
  int64_t bytes() const noexcept { return bytes_; }
  /// Whether the example has the dtypes and shapes of this layout; the order of its elements does not matter.
  bool fits(const datasets::Example& example) const noexcept;

  /// Copies an example that fits to its row of a block.
  void write(const datasets::Example& example, void* block, int64_t row) const;
  /// The same where the planes lie in different places.
  void write(const datasets::Example& example, void* const* planes, int64_t row) const;

  /// The planes of a new batch, (batch size, ...) each: in page-locked memory of `device`, or plain memory when that is
  /// the CPU.
  datasets::Example allocate(const Device& device) const;
  /// The planes of a block as arrays, component by component. release(context) is called once for each of them, with
  /// its last view.
  datasets::Example wrap(void* block, void (*release)(void* context), void* context) const;

  /// The first `count` examples of planes: views, without a copy.
  static Batch rows(const datasets::Example& planes, int64_t count);

 private:
  struct Plane {
    Dtype dtype;
    bool is_image;  // channels innermost
    Shape shape;    // of a row
    int64_t row_bytes;
    int64_t offset;  // in the block
  };

  int32_t components_ = 0;
  int64_t batch_size_ = 0;
  int64_t bytes_ = 0;
  Plane planes_[kMaxComponents];
};

}  // namespace kusari::iterators
