#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/device.h"

// What is done to all arrays of a model at once, in few launches and few copies between devices.
namespace kusari::updaters {

/// to[i] = from[i], converted to the dtype of to[i]; all on one device.
void copy_arrays(std::span<const Array> from, std::span<const Array> to);
/// to[i] += from[i]; all on one device and floating, from[i] of the dtype of to[i].
void add_arrays(std::span<const Array> from, std::span<const Array> to);

/// How arrays lie in blocks of memory, one block for each dtype, which go to another device as a whole.
class BlockLayout {
 public:
  /// Of arrays with the shapes, the dtypes and the memory order of these.
  explicit BlockLayout(std::span<const Array> arrays);

  std::vector<Array> empty_blocks(const Device& device) const;
  /// The arrays that lie in such blocks, in the order of the constructor's.
  std::vector<Array> views(std::span<const Array> blocks) const;
  /// Copies of the arrays, which are on one device.
  std::vector<Array> pack(std::span<const Array> arrays) const;

 private:
  struct Place {
    Shape shape;
    Strides strides;
    size_t block;
    int64_t offset;  // in elements
  };
  struct Block {
    Dtype dtype;
    int64_t size = 0;  // in elements
  };

  std::vector<Place> places_;
  std::vector<Block> blocks_;
};

std::vector<Array> to_device(std::span<const Array> blocks, const Device& device);

}  // namespace kusari::updaters
