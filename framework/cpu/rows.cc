#include "kusari/framework/kernels/rows.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/register.h"

namespace kusari::cpu {
namespace {

constexpr int64_t kNoRow = -1;

/// Indices as rows in [0, rows), or kNoRow for the ignored one.
Array resolve(const kernels::RowLookup& lookup, const Array& index, int64_t rows) {
  const Array result = index.astype(Dtype::int64, true).contiguous();
  int64_t* const places = result.data<int64_t>();
  for (int64_t i = 0; i < result.size(); ++i) {
    const int64_t given = places[i];
    if (lookup.has_ignored && given == lookup.ignored) {
      places[i] = kNoRow;
    } else if (given < -rows || given >= rows) {
      throw IndexError(std::string(lookup.call) + ": index " + std::to_string(given) + " is out of range for " +
                       std::to_string(rows) + " rows");
    } else if (given < 0) {
      places[i] = given + rows;
    }
  }
  return result;
}

void take_rows(Params<kernels::RowLookup> lookup, In x, In index, Out y) {
  const Array resolved = resolve(*lookup, *index, x->shape()[0]);
  const int64_t* const places = resolved.data<int64_t>();
  const int64_t bytes = x->shape()[1] * itemsize(x->dtype());
  const int64_t chunk = std::max<int64_t>(1, kThreadChunk / std::max<int64_t>(x->shape()[1], 1));
  parallel_for(index->size(), chunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      char* const to = y->data<char>() + i * bytes;
      if (places[i] == kNoRow) {
        std::memset(to, 0, static_cast<size_t>(bytes));
      } else {
        std::memcpy(to, x->data<char>() + places[i] * bytes, static_cast<size_t>(bytes));
      }
    }
  });
}

template <class X, class Y>
void add_rows_of(const Array& x, const int64_t* places, int64_t count, const Array& y) {
  const int64_t n = y.shape()[1];
  // Threads share columns, not rows, so that every sum has one order.
  const int64_t chunk = std::max<int64_t>(64, kThreadChunk / std::max<int64_t>(count, 1));
  parallel_for(n, chunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < count; ++i) {
      if (places[i] == kNoRow) continue;
      const X* const from = x.data<X>() + i * n;
      Y* const to = y.data<Y>() + places[i] * n;
      for (int64_t j = begin; j < end; ++j) to[j] = static_cast<Y>(to[j] + convert_element<Y>(from[j]));
    }
  });
}

void add_rows(Params<kernels::RowLookup> lookup, In x, In index, InOut y) {
  const Array resolved = resolve(*lookup, *index, y->shape()[0]);
  const int64_t* const places = resolved.data<int64_t>();
  const int64_t count = index->size();
  visit_dtype(x->dtype(), [&]<class X>() {
    if constexpr (dtype_of<X> == Dtype::float16 || dtype_of<X> == Dtype::bfloat16) {
      if (y->dtype() == Dtype::float32) return add_rows_of<X, float>(*x, places, count, *y);
      const Array wide = y->astype(Dtype::float32);
      add_rows_of<X, float>(*x, places, count, wide);
      y->copy_from(wide);
    } else {
      add_rows_of<X, X>(*x, places, count, *y);
    }
  });
}

}  // namespace

void register_rows(Backend& backend) {
  backend.add<kernels::TakeRows>(take_rows);
  backend.add<kernels::AddRows>(add_rows);
}

}  // namespace kusari::cpu
