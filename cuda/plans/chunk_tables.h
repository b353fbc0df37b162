#pragma once

#include <span>

#include "kusari/cuda/plans/chunk_table.h"
#include "kusari/framework/core/array.h"

namespace kusari::cuda {

/// Calls launch(table) for tables that hold the tensors of one dtype between them; data(k, i) is array k of tensor i.
template <int kArrays, class Data, class Launch>
void for_each_table(std::span<const Array> tensors, Dtype dtype, const Data& data, const Launch& launch) {
  ChunkTable<kArrays> table;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].dtype() != dtype) continue;
    const int at = table.add(static_cast<uint32_t>(i), tensors[i].size());
    for (int k = 0; k < kArrays; ++k) table.data[k][at] = data(k, i);
    if (!table.is_full()) continue;
    launch(table);
    table.count = 0;
  }
  if (table.count > 0) launch(table);
}

}  // namespace kusari::cuda
