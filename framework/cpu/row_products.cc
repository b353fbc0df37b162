#include "kusari/framework/kernels/row_products.h"

#include <algorithm>
#include <vector>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/row_products.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/cpu/row_lookup.h"

namespace kusari::cpu {
namespace {

template <class T>
const RowProductLoop<T>& loops() {
  static const RowProductLoops& table = *KUSARI_LOOPS(isa(), row_product_loops);
  if constexpr (std::is_same_v<T, double>) {
    return table.f64;
  } else {
    return table.f32;
  }
}

/// Rows of a matrix as elements of T.
template <class T>
class RowReader {
 public:
  explicit RowReader(const Array& W)
      : data_{W.data<char>()},
        n_{W.shape()[1]},
        bytes_{n_ * itemsize(W.dtype())},
        is_direct_{W.dtype() == dtype_of<T>} {
    if (!is_direct_) {
      convert_ = convert_loop(W.dtype(), dtype_of<T>);
      buffer_ = empty({n_}, dtype_of<T>);
    }
  }
  /// Valid until the next call.
  const T* row(int64_t i) {
    const char* const from = data_ + i * bytes_;
    if (is_direct_) return reinterpret_cast<const T*>(from);
    convert_(from, buffer_.data<T>(), n_);
    return buffer_.data<T>();
  }

 private:
  const char* data_;
  int64_t n_, bytes_;
  bool is_direct_;
  ConvertLoop convert_ = nullptr;
  Array buffer_;
};

/// Examples that one thread takes at a time.
int64_t examples_at_once(int64_t k, int64_t d) {
  return std::max<int64_t>(1, kThreadChunk / std::max<int64_t>(k * d, 1));
}

template <class T>
void dots(const int64_t* places, int64_t k, const Array& x, const Array& W, const Array& y) {
  const int64_t d = x.shape()[1];
  parallel_for(x.shape()[0], examples_at_once(k, d), [&](int64_t begin, int64_t end) {
    RowReader<T> reader(W);
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = i * k; j < (i + 1) * k; ++j) {
        y.data<T>()[j] = places[j] == kNoRow ? T(0) : loops<T>().dot(x.data<T>() + i * d, reader.row(places[j]), d);
      }
    }
  });
}

template <class T>
void combinations(const int64_t* places, int64_t k, const Array& g, const Array& W, const Array& y) {
  const int64_t d = y.shape()[1];
  parallel_for(y.shape()[0], examples_at_once(k, d), [&](int64_t begin, int64_t end) {
    RowReader<T> reader(W);
    std::fill(y.data<T>() + begin * d, y.data<T>() + end * d, T(0));
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = i * k; j < (i + 1) * k; ++j) {
        if (places[j] != kNoRow) loops<T>().add(g.data<T>()[j], reader.row(places[j]), y.data<T>() + i * d, d);
      }
    }
  });
}

/// Which of `count` places name each of `rows` rows: those of row v are order[first[v]] .. order[first[v + 1] - 1].
struct PlacesByRow {
  std::vector<int64_t> first, order;

  PlacesByRow(const int64_t* places, int64_t count, int64_t rows)
      : first(static_cast<size_t>(rows) + 1), order(static_cast<size_t>(count)) {
    for (int64_t j = 0; j < count; ++j) {
      if (places[j] != kNoRow) ++first[static_cast<size_t>(places[j]) + 1];
    }
    for (size_t v = 0; v < static_cast<size_t>(rows); ++v) first[v + 1] += first[v];
    std::vector<int64_t> next(first.begin(), first.end() - 1);
    for (int64_t j = 0; j < count; ++j) {
      if (places[j] != kNoRow) order[static_cast<size_t>(next[static_cast<size_t>(places[j])]++)] = j;
    }
  }
};

template <class T>
void sums(const int64_t* places, int64_t k, const Array& g, const Array& x, const Array& y) {
  const int64_t rows = y.shape()[0], d = y.shape()[1];
  const PlacesByRow by_row(places, g.size(), rows);
  const int64_t work = y.size() + g.size() * d;
  const int64_t chunk = std::max<int64_t>(1, rows * kThreadChunk / std::max<int64_t>(work, 1));
  parallel_for(rows, chunk, [&](int64_t begin, int64_t end) {
    std::fill(y.data<T>() + begin * d, y.data<T>() + end * d, T(0));
    for (int64_t v = begin; v < end; ++v) {
      const size_t row = static_cast<size_t>(v);
      for (int64_t at = by_row.first[row]; at < by_row.first[row + 1]; ++at) {
        const int64_t j = by_row.order[static_cast<size_t>(at)];
        loops<T>().add(g.data<T>()[j], x.data<T>() + j / k * d, y.data<T>() + v * d, d);
      }
    }
  });
}

template <class Float32, class Float64>
void run(Float32 float32, Float64 float64, const kernels::RowLookup& lookup, const Array& a, const Array& b,
         const Array& rows, int64_t count, const Array& y) {
  if (y.size() == 0) return;
  const Array places = resolve_rows(lookup, rows, count);
  const auto compute = y.dtype() == Dtype::float64 ? float64 : float32;
  compute(places.data<int64_t>(), rows.shape()[1], a, b, y);
}

void row_dots(Params<kernels::RowLookup> lookup, In x, In W, In rows, Out y) {
  run(dots<float>, dots<double>, *lookup, x, W, rows, W->shape()[0], y);
}
void row_combinations(Params<kernels::RowLookup> lookup, In g, In W, In rows, Out y) {
  run(combinations<float>, combinations<double>, *lookup, g, W, rows, W->shape()[0], y);
}
void row_sums(Params<kernels::RowLookup> lookup, In g, In x, In rows, Out y) {
  run(sums<float>, sums<double>, *lookup, g, x, rows, y->shape()[0], y);
}

}  // namespace

void register_row_products(Backend& backend) {
  backend.add<kernels::RowDots>(row_dots);
  backend.add<kernels::RowCombinations>(row_combinations);
  backend.add<kernels::RowSums>(row_sums);
}

}  // namespace kusari::cpu
