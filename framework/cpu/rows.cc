#include "kusari/framework/kernels/rows.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/cpu/row_lookup.h"

namespace kusari::cpu {
namespace {

void take_rows(Params<kernels::RowLookup> lookup, In x, In index, Out y) {
  const Array resolved = resolve_rows(*lookup, *index, x->shape()[0]);
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

/// Columns that one thread adds at a time: threads share columns, not rows, so that every sum has one order.
int64_t columns_at_once(int64_t count, int64_t n) {
  constexpr int64_t kFew = 16;  // ranges of columns
  return std::max({kBlock, kThreadChunk / std::max<int64_t>(count, 1), (n + kFew - 1) / kFew});
}

template <class X, class Y>
void add_rows_of(const Array& x, const int64_t* places, int64_t count, const Array& y) {
  const int64_t n = y.shape()[1];
  parallel_for(n, columns_at_once(count, n), [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < count; ++i) {
      if (places[i] == kNoRow) continue;
      const X* const from = x.data<X>() + i * n;
      Y* const to = y.data<Y>() + places[i] * n;
      for (int64_t j = begin; j < end; ++j) to[j] = static_cast<Y>(to[j] + convert_element<Y>(from[j]));
    }
  });
}

/// Rows of a 16-bit y: what meets in one row is summed in float32 and rounded once.
void add_half_rows(const Array& x, const int64_t* places, int64_t count, const Array& y) {
  const int64_t n = y.shape()[1], from_size = itemsize(x.dtype()), to_size = itemsize(y.dtype());
  std::vector<int64_t> order;  // the rows of x, those of one row of y side by side and in x's order
  for (int64_t i = 0; i < count; ++i) {
    if (places[i] != kNoRow) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [places](int64_t a, int64_t b) { return places[a] < places[b]; });
  const ConvertLoop from_x = convert_loop(x.dtype(), Dtype::float32), from_y = convert_loop(y.dtype(), Dtype::float32),
                    to_y = convert_loop(Dtype::float32, y.dtype());
  parallel_for(n, columns_at_once(count, n), [&](int64_t begin, int64_t end) {
    alignas(64) float sum[kBlock], term[kBlock];
    for (; begin < end; begin += kBlock) {
      const int64_t m = std::min(kBlock, end - begin);
      for (size_t k = 0; k < order.size();) {
        const int64_t place = places[order[k]];
        char* const to = y.data<char>() + (place * n + begin) * to_size;
        from_y(to, sum, m);
        for (; k < order.size() && places[order[k]] == place; ++k) {
          from_x(x.data<char>() + (order[k] * n + begin) * from_size, term, m);
          for (int64_t j = 0; j < m; ++j) sum[j] += term[j];
        }
        to_y(sum, to, m);
      }
    }
  });
}

void add_rows(Params<kernels::RowLookup> lookup, In x, In index, InOut y) {
  const Array resolved = resolve_rows(*lookup, *index, y->shape()[0]);
  const int64_t* const places = resolved.data<int64_t>();
  const int64_t count = index->size();
  if (is_half(y->dtype())) return add_half_rows(*x, places, count, *y);
  visit_dtype(x->dtype(), [&]<class X>() {
    if constexpr (is_half(dtype_of<X>)) {
      add_rows_of<X, float>(*x, places, count, *y);
    } else {
      add_rows_of<X, X>(*x, places, count, *y);
    }
  });
}

void last_places(Params<kernels::RowLookup> lookup, In index, InOut last) {
  const Array resolved = resolve_rows(*lookup, *index, last->shape()[0]);
  const int64_t* const places = resolved.data<int64_t>();
  int64_t* const to = last->data<int64_t>();
  for (int64_t i = 0; i < index->size(); ++i) {
    if (places[i] != kNoRow) to[places[i]] = std::max(to[places[i]], i + 1);
  }
}

}  // namespace

void register_rows(Backend& backend) {
  backend.add<kernels::TakeRows>(take_rows);
  backend.add<kernels::AddRows>(add_rows);
  backend.add<kernels::LastPlaces>(last_places);
}

}  // namespace kusari::cpu
