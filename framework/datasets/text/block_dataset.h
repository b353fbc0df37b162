#pragma once

#include <cstdint>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/dataset.h"

namespace kusari::datasets {

/// Pieces of one long text, for models that see a whole block at once, such as transformers. Example i is a pair:
/// words i .. i + block - 1, and for each of them the next one, words i + 1 .. i + block. Both are views, (block).
class KUSARI_API BlockDataset final : public Dataset {
 public:
  /// words: (n), of any dtype, on the host. Throws ValueError unless 1 <= block < n, TypeError for an array that is no
  /// vector on the host.
  BlockDataset(Array words, int64_t block);

  int64_t size() const override { return words_.size() - block_; }
  Example get(int64_t i) const override;

 private:
  Array words_;
  int64_t block_;
};

}  // namespace kusari::datasets
