#include "kusari/framework/kernels/batch_normalization.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/batch_normalization.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/kernels/channel_rows.h"

namespace kusari::cpu {
namespace {

using Options = kernels::BatchNormalization;

/// Numbers of the channels in the compute type.
Array channel_numbers(const Array& x, Dtype dtype) { return x.is_defined() ? x.astype(dtype).contiguous() : x; }

/// Rows in pieces that depend on sizes alone.
class Pieces {
 public:
  explicit Pieces(const RowOrder& order)
      : rows_{order.rows()}, piece_{std::clamp<int64_t>(kPiece / order.channels(), kFewest, kMost)} {}
  int64_t count() const noexcept { return (rows_ + piece_ - 1) / piece_; }
  int64_t size(int64_t i) const noexcept { return std::min(piece_, rows_ - i * piece_); }
  /// body(piece, first row, rows).
  template <class Body>
  void forwards(const Body& body) const {
    parallel_for(count(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(i, i * piece_, size(i));
    });
  }
  /// The last rows first: they are still in the caches when they have just been read.
  template <class Body>
  void backwards(const Body& body) const {
    parallel_for(count(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const int64_t i = count() - 1 - k;
        body(i * piece_, size(i));
      }
    });
  }

 private:
  static constexpr int64_t kPiece = 65536;              // elements
  static constexpr int64_t kFewest = 16, kMost = 1024;  // rows; few enough for sums in float32
  int64_t rows_, piece_;
};

const BatchNormLoops& loops_for(Dtype storage) {
  static const BatchNormTable& table = *KUSARI_LOOPS(isa(), batch_norm_loops);
  switch (storage) {
    case Dtype::float16:
      return table.f16;
    case Dtype::bfloat16:
      return table.bf16;
    case Dtype::float32:
      return table.f32;
    default:
      return table.f64;
  }
}

/// The types in which a call computes.
struct Types {
  Dtype compute, storage;
  Types(const Array& x, const Array& gamma)
      : compute{x.dtype() == Dtype::float64 || gamma.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32},
        storage{compute == Dtype::float64 ? compute : x.dtype()} {}
};

/// running = decay running + (1 - decay) value.
void update_running(const Array& running, const std::vector<double>& values, double decay) {
  const auto update = [&](auto* to) {
    for (size_t i = 0; i < values.size(); ++i) {
      to[i] = static_cast<std::remove_reference_t<decltype(*to)>>(decay * static_cast<double>(to[i]) +
                                                                  (1 - decay) * values[i]);
    }
  };
  if (running.dtype() == Dtype::float32 && running.is_contiguous()) return update(running.data<float>());
  const Array wide = running.astype(Dtype::float64, true).contiguous();
  update(wide.data<double>());
  running.copy_from(wide);
}

/// Mean and sum of squared deviations of each channel.
struct Statistics {
  std::vector<double> mean, deviations;
};

// Chan, Golub and LeVeque 1979: the pieces' own means and deviations are exact enough in T, because the numbers are
// taken relative to some of the piece; what lies between the pieces is added in float64.
template <class T>
Statistics statistics_of(const BatchNormLoops& loops, const RowOrder& order, const Pieces& pieces, const Array& x) {
  const int64_t n = order.channels(), row_bytes = n * itemsize(x.dtype());
  const auto width = static_cast<size_t>(n);
  const Array parts = empty({pieces.count(), 3, n}, dtype_of<T>);
  pieces.forwards([&](int64_t piece, int64_t row, int64_t rows) {
    T* const part = parts.data<T>() + piece * 3 * n;
    loops.moments({.rows = rows,
                   .channels = n,
                   .x = x.data<char>() + row * row_bytes,
                   .shift = part,
                   .sum = part + n,
                   .square = part + 2 * n});
  });

  Statistics result{std::vector<double>(width), std::vector<double>(width)};
  const auto each_piece = [&](const auto& body) {
    for (int64_t i = 0; i < pieces.count(); ++i) body(parts.data<T>() + i * 3 * n, pieces.size(i));
  };
  double* const mean = result.mean.data();
  each_piece([&](const T* part, int64_t rows) { loops.channels.add_means(part, rows, n, mean); });
  for (double& value : result.mean) value /= static_cast<double>(order.rows());
  each_piece([&](const T* part, int64_t rows) {
    loops.channels.add_deviations(part, rows, n, mean, result.deviations.data());
  });
  return result;
}

template <class T>
void product_to(const Array& y, const Array& a, const Array& b) {
  for (int64_t c = 0; c < y.size(); ++c) y.data<T>()[c] = a.data<T>()[c] * b.data<T>()[c];
}

/// gamma inv_std.
Array scale_of(const Array& gamma, const Array& inv_std) {
  const Array scale = empty(gamma.shape(), gamma.dtype());
  gamma.dtype() == Dtype::float64 ? product_to<double>(scale, gamma, inv_std)
                                  : product_to<float>(scale, gamma, inv_std);
  return scale;
}

void apply(const Options& options, const BatchNormLoops& loops, const RowOrder& order, const Pieces& pieces,
           const Types& types, const Array& x, const Array& residual, const Array& gamma, const Array& beta,
           const Array& mean, const Array& inv_std, const Array& y) {
  const Array others = order.rows_of(residual, types.storage), shift = channel_numbers(beta, types.compute);
  const Array scale = scale_of(channel_numbers(gamma, types.compute), inv_std);
  const RowResult result(order, y, types.storage);
  const BatchNormLoop loop = loops.apply[others.is_defined() ? 1 : 0][options.relu ? 1 : 0];
  const int64_t row_bytes = order.channels() * itemsize(types.storage);
  pieces.backwards([&](int64_t row, int64_t rows) {
    const int64_t at = row * row_bytes;
    loop({.rows = rows,
          .channels = order.channels(),
          .x = x.data<char>() + at,
          .residual = others.is_defined() ? others.data<char>() + at : nullptr,
          .out = result.data() + at,
          .mean = mean.raw_data(),
          .scale = scale.raw_data(),
          .beta = shift.raw_data()});
  });
  result.finish();
}

template <class T>
void forward_as(const Options& options, const Types& types, const Array& x, const Array& residual, const Array& gamma,
                const Array& beta, const Array& running_mean, const Array& running_var, const Array& mean,
                const Array& inv_std, const Array& y) {
  const RowOrder order(x.shape(), options.axes);
  if (x.size() == 0) {
    mean.fill(0);
    inv_std.fill(1 / std::sqrt(options.eps));
    return;
  }
  const Pieces pieces(order);
  const BatchNormLoops& loops = loops_for(types.storage);
  const Array rows = order.rows_of(x, types.storage);
  Statistics statistics = statistics_of<T>(loops, order, pieces, rows);
  const double m = static_cast<double>(order.rows());
  std::copy(statistics.mean.begin(), statistics.mean.end(), mean.data<T>());
  loops.channels.inverse_deviations(statistics.deviations.data(), m, options.eps, inv_std.raw_data(), order.channels());
  if (running_mean.is_defined()) {
    for (double& deviation : statistics.deviations) deviation /= std::max(m - 1, 1.0);
    update_running(running_mean, statistics.mean, options.decay);
    update_running(running_var, statistics.deviations, options.decay);
  }
  if (!y.is_defined()) return;
  apply(options, loops, order, pieces, types, rows, residual, gamma, beta, mean, inv_std, y);
}

void forward(Params<Options> options, In x, In residual, In gamma, In beta, InOut running_mean, InOut running_var,
             Out mean, Out inv_std, Out y) {
  const Types types(x, gamma);
  (types.compute == Dtype::float64 ? forward_as<double> : forward_as<float>)(options, types, x, residual, gamma, beta,
                                                                             running_mean, running_var, mean, inv_std,
                                                                             y);
}

void fixed(Params<Options> options, In x, In residual, In gamma, In beta, In mean, In var, Out inv_std, Out y) {
  const RowOrder order(x->shape(), options->axes);
  const Types types(x, gamma);
  const BatchNormLoops& loops = loops_for(types.storage);
  const Array vars = channel_numbers(var, Dtype::float64);
  const Array inverse = inv_std ? *inv_std : empty(vars.shape(), types.compute);
  loops.channels.inverse_deviations(vars.data<double>(), 1, options->eps, inverse.raw_data(), vars.size());
  if (x->size() == 0) return;
  apply(options, loops, order, Pieces(order), types, order.rows_of(x, types.storage), residual, gamma, beta,
        channel_numbers(mean, types.compute), inverse, y);
}

void again(Params<Options> options, In x, In residual, In gamma, In beta, In mean, In inv_std, Out y) {
  if (x->size() == 0) return;
  const RowOrder order(x->shape(), options->axes);
  const Types types(x, gamma);
  apply(options, loops_for(types.storage), order, Pieces(order), types, order.rows_of(x, types.storage), residual,
        gamma, beta, mean, inv_std, y);
}

void write_numbers(const Array& y, const std::vector<double>& values) {
  if (y.is_defined()) y.copy_from(array<double>(values, y.shape()));
}

template <class T>
void backward_as(const Options& options, const Types& types, const Array& x, const Array& y, const Array& gy,
                 const Array& gamma, const Array& beta, const Array& mean, const Array& inv_std, const Array& gx,
                 const Array& gresidual, const Array& ggamma, const Array& gbeta) {
  const RowOrder order(x.shape(), options.axes);
  const int64_t n = order.channels(), row_bytes = n * itemsize(types.storage);
  const auto width = static_cast<size_t>(n);
  std::vector<double> sum(width), product(width);
  if (x.size() == 0) {
    write_numbers(ggamma, product);
    write_numbers(gbeta, sum);
    return;
  }
  const BatchNormLoops& loops = loops_for(types.storage);
  const Pieces pieces(order);
  const BatchNormMask mask = !options.relu ? kMaskNone : y.is_defined() ? kMaskFromY : kMaskFromX;
  const Array from = order.rows_of(x, types.storage), to = order.rows_of(y, types.storage);
  const Array shift = channel_numbers(beta, types.compute);
  const Array scale = scale_of(channel_numbers(gamma, types.compute), inv_std);
  Array g = order.rows_of(gy, types.storage);
  BatchNormBlock all{.channels = n,
                     .mean = mean.raw_data(),
                     .scale = scale.raw_data(),
                     .beta = shift.is_defined() ? shift.raw_data() : nullptr};

  if (mask == kMaskFromY || !options.fixed || ggamma.is_defined() || gbeta.is_defined()) {
    const bool in_place = gresidual.is_defined() && gresidual.dtype() == types.storage && order.holds_for(gresidual);
    const Array masked = mask != kMaskFromY ? Array() : in_place ? gresidual : empty(order.permuted(), types.storage);
    const Array parts = empty({pieces.count(), 2, n}, types.compute);
    pieces.forwards([&](int64_t piece, int64_t row, int64_t rows) {
      T* const part = parts.data<T>() + piece * 2 * n;
      const int64_t at = row * row_bytes;
      BatchNormBlock block = all;
      block.rows = rows;
      block.x = from.data<char>() + at;
      block.gy = g.data<char>() + at;
      if (mask == kMaskFromY) {
        block.y = to.data<char>() + at;
        block.masked = masked.data<char>() + at;
      }
      block.sum = part;
      block.square = part + n;
      loops.sums[mask](block);
    });
    for (int64_t i = 0; i < pieces.count(); ++i) {
      loops.channels.add_sums(parts.data<T>() + i * 2 * n, n, sum.data(), product.data());
    }
    if (mask == kMaskFromY) {
      if (gresidual.is_defined() && !in_place) gresidual.copy_from(order.restored(masked));
      g = masked;
    }
  }

  const Array offset = empty({n}, types.compute), slope = empty({n}, types.compute);
  const double m = static_cast<double>(order.rows());
  for (int64_t c = 0; c < n; ++c) {
    const auto i = static_cast<size_t>(c);
    const double inverse = static_cast<double>(inv_std.data<T>()[c]);
    product[i] *= inverse;
    offset.data<T>()[c] = static_cast<T>(sum[i] / m);
    slope.data<T>()[c] = static_cast<T>(product[i] * inverse / m);
  }
  write_numbers(ggamma, product);
  write_numbers(gbeta, sum);
  if (!gx.is_defined()) return;

  all.offset = offset.raw_data();
  all.slope = slope.raw_data();
  const RowResult result(order, gx, types.storage);
  const BatchNormLoop loop = (options.fixed ? loops.fixed_gradient : loops.gradient)[mask == kMaskFromX ? 1 : 0];
  pieces.backwards([&](int64_t row, int64_t rows) {
    const int64_t at = row * row_bytes;
    BatchNormBlock block = all;
    block.rows = rows;
    block.x = from.data<char>() + at;
    block.gy = g.data<char>() + at;
    block.out = result.data() + at;
    loop(block);
  });
  result.finish();
}

void backward(Params<Options> options, In x, In y, In gy, In gamma, In beta, In mean, In inv_std, Out gx, Out gresidual,
              Out ggamma, Out gbeta) {
  const Types types(x, gamma);
  (types.compute == Dtype::float64 ? backward_as<double> : backward_as<float>)(options, types, x, y, gy, gamma, beta,
                                                                               mean, inv_std, gx, gresidual, ggamma,
                                                                               gbeta);
}

}  // namespace

void register_batch_normalization(Backend& backend) {
  backend.add<kernels::BatchNormalizationForward>(&forward);
  backend.add<kernels::FixedBatchNormalization>(&fixed);
  backend.add<kernels::BatchNormalizationAgain>(&again);
  backend.add<kernels::BatchNormalizationBackward>(&backward);
}

}  // namespace kusari::cpu
