#include "kusari/framework/kernels/ordering.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/register.h"

namespace kusari::cpu {
namespace {

/// a < b, with NaN above all numbers.
template <class T>
bool is_before(T a, T b) {
  return a < b || (b != b && a == a);
}

/// Calls body<T>() with a type that compares all numbers of the dtype, and with elements of it.
template <class Body>
void with_comparable(Dtype dtype, const Body& body) {
  if (is_integral(dtype)) {
    body.template operator()<int64_t>(Dtype::int64);
  } else if (dtype == Dtype::float64) {
    body.template operator()<double>(Dtype::float64);
  } else {
    body.template operator()<float>(Dtype::float32);
  }
}

template <class T>
struct Placed {
  T value;
  int64_t place;
};

void argsort_rows(In x, Out indices) {
  const int64_t rows = x->shape()[0], n = x->shape()[1];
  if (x->size() == 0) return;
  with_comparable(x->dtype(), [&]<class T>(Dtype dtype) {
    const Array values = x->astype(dtype).contiguous();
    parallel_for(rows, std::max<int64_t>(1, kThreadChunk / (8 * n)), [&](int64_t begin, int64_t end) {
      std::vector<Placed<T>> row(static_cast<size_t>(n));
      for (int64_t r = begin; r < end; ++r) {
        const T* const from = values.data<T>() + r * n;
        for (int64_t i = 0; i < n; ++i) row[static_cast<size_t>(i)] = {from[i], i};
        std::sort(row.begin(), row.end(), [](const Placed<T>& a, const Placed<T>& b) {
          return is_before(a.value, b.value) || (!is_before(b.value, a.value) && a.place < b.place);
        });
        int64_t* const to = indices->data<int64_t>() + r * n;
        for (int64_t i = 0; i < n; ++i) to[i] = row[static_cast<size_t>(i)].place;
      }
    });
  });
}

void search_sorted(Params<kernels::InsertionSide> side, In sorted, In values, Out places) {
  const bool right = side->right;
  with_comparable(sorted->dtype(), [&]<class T>(Dtype dtype) {
    const Array order = sorted->astype(dtype).contiguous(), wanted = values->astype(dtype).contiguous();
    const T *const first = order.data<T>(), *const last = first + order.size();
    int64_t* const to = places->data<int64_t>();
    parallel_for(wanted.size(), kThreadChunk / 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T value = wanted.data<T>()[i];
        to[i] = (right ? std::upper_bound(first, last, value, is_before<T>)
                       : std::lower_bound(first, last, value, is_before<T>)) -
                first;
      }
    });
  });
}

void put_rows(In x, In index, InOut y) {
  const int64_t count = index->size(), bytes = count == 0 ? 0 : x->nbytes() / count;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(y->data<char>() + index->data<int64_t>()[i] * bytes, x->data<char>() + i * bytes,
                static_cast<size_t>(bytes));
  }
}

}  // namespace

void register_ordering(Backend& backend) {
  backend.add<kernels::ArgsortRows>(&argsort_rows);
  backend.add<kernels::SearchSorted>(&search_sorted);
  backend.add<kernels::PutRows>(&put_rows);
}

}  // namespace kusari::cpu
