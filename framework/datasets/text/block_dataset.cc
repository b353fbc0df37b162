#include "kusari/framework/datasets/text/block_dataset.h"

#include <string>

#include "kusari/framework/core/error.h"

namespace kusari::datasets {

BlockDataset::BlockDataset(Array words, int64_t block) : block_{block} {
  if (!words.is_defined() || words.ndim() != 1 || !words.device().is_cpu()) {
    throw TypeError("BlockDataset: words " +
                    (words.is_defined() ? "has shape " + to_string(words.shape()) + " on " + words.device().name()
                                        : std::string("is not given")) +
                    ": it must be a vector on the host");
  }
  if (block < 1 || block >= words.size()) {
    throw ValueError("BlockDataset: block is " + std::to_string(block) + ": it must be at least 1 and below " +
                     std::to_string(words.size()) + ", the number of words");
  }
  words_ = words.contiguous();
}

Example BlockDataset::get(int64_t i) const {
  check_index("BlockDataset", i, size());
  return {words_.slice(0, i, block_), words_.slice(0, i + 1, block_)};
}

}  // namespace kusari::datasets
