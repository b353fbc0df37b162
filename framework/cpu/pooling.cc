#include "kusari/framework/kernels/pooling.h"

#include <algorithm>

#include "kusari/framework/core/small_vector.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/pooling.h"
#include "kusari/framework/cpu/register.h"

namespace kusari::cpu {
namespace {

using kernels::AveragePooling;
using kernels::Pooling;
using kernels::PoolingDivisor;

const PoolingLoops& all_loops() {
  static const PoolingLoops& loops = *KUSARI_LOOPS(isa(), pooling_loops);
  return loops;
}

const PoolingLoop& loops_for(Dtype dtype) {
  const PoolingLoops& loops = all_loops();
  switch (dtype) {
    case Dtype::float16:
      return loops.f16;
    case Dtype::bfloat16:
      return loops.bf16;
    case Dtype::float64:
      return loops.f64;
    default:
      return loops.f32;
  }
}

/// The places of the source that one place of the target reads, along one axis: first, first + 1, ... Their numbers
/// within the window change by a constant.
struct Places {
  int64_t first;
  int64_t count;
  int64_t number;
};

/// One spatial axis of a pooling. Forward, a window of x makes one place of y; backward, the windows that hold a place
/// of x lie side by side in y.
struct Axis {
  int64_t in, out, ksize, stride, pad;
  bool backward;

  int64_t source_size() const { return backward ? out : in; }
  int64_t target_size() const { return backward ? in : out; }
  int64_t number_step() const { return backward ? -stride : 1; }
  /// Targets so far apart read the same pattern of places.
  int64_t period() const { return backward ? stride : 1; }

  Places places(int64_t target) const {
    if (!backward) {
      const int64_t start = target * stride - pad;
      const int64_t first = std::clamp<int64_t>(start, 0, in), last = std::clamp<int64_t>(start + ksize, first, in);
      return {first, last - first, first - start};
    }
    const int64_t behind = target + pad;  // window o starts at stride o, and behind - stride o must be in [0, ksize)
    const int64_t first = behind < ksize ? 0 : std::min(out, (behind - ksize) / stride + 1);
    const int64_t last = std::clamp(behind / stride + 1, first, out);
    return {first, last - first, behind - first * stride};
  }
};

/// Targets along the last axis that read the same pattern.
struct Columns {
  Places places;  // of the first
  int64_t target;
  int64_t count;
};

/// All pixels of a target as PoolingRuns, row by row. Both arrays are channels-last without gaps.
class PoolingPlan {
 public:
  PoolingPlan(const Pooling& pooling, const Shape& x, const Shape& y, bool backward)
      : images_{x[0]}, channels_{x[1]}, axes_(static_cast<size_t>(pooling.ndim)) {
    if (images_ == 0 || channels_ == 0) return;  // there are no runs, and sizes may be what no memory holds
    int64_t pixels = 1;
    for (int i = 0; i < pooling.ndim; ++i) {
      axis(i) = {x[2 + i], y[2 + i], pooling.ksize[i], pooling.stride[i], pooling.pad[i], backward};
      if (i + 1 < pooling.ndim) rows_ *= axis(i).target_size();
      pixels *= std::max(x[2 + i], y[2 + i]);
    }
    const int64_t row_work = std::max<int64_t>(1, pixels * channels_ / std::max<int64_t>(1, rows_));
    rows_ *= images_;
    chunk_ = std::max<int64_t>(1, kThreadChunk / row_work);
    find_columns();
  }

  /// Calls body(run) for each run, on several threads.
  template <class Body>
  void for_each_run(const Body& body) const {
    if (channels_ == 0 || columns_.empty()) return;
    parallel_for(rows_, chunk_, [&](int64_t begin, int64_t end) {
      Offsets outer[2], all;
      for (int64_t row = begin; row < end; ++row) {
        const Offsets& rows = find_outer(row, outer);
        for (const Columns& columns : columns_) body(make_run(row, columns, rows, &all));
      }
    });
  }

 private:
  struct Offsets {
    SmallVector<int64_t, 32> offset, place;
    void clear() {
      offset.clear();
      place.clear();
    }
    void add(int64_t o, int64_t p) {
      offset.push_back(o);
      place.push_back(p);
    }
  };

  Axis& axis(int i) { return axes_[static_cast<size_t>(i)]; }
  const Axis& axis(int i) const { return axes_[static_cast<size_t>(i)]; }
  int ndim() const { return static_cast<int>(axes_.size()); }
  const Axis& last() const { return axes_[axes_.size() - 1]; }

  void find_columns() {
    const Axis& axis = last();
    const int64_t period = axis.period(), shift = axis.backward ? 1 : axis.stride;
    for (int64_t phase = 0; phase < std::min(period, axis.target_size()); ++phase) {
      Places previous{};
      bool is_first = true;
      for (int64_t target = phase; target < axis.target_size(); target += period) {
        const Places places = axis.places(target);
        const bool continues = !is_first && places.count == previous.count && places.number == previous.number &&
                               (places.count == 0 || places.first == previous.first + shift);
        if (continues) {
          ++columns_[columns_.size() - 1].count;
        } else {
          columns_.push_back({places, target, 1});
        }
        previous = places;
        is_first = false;
      }
    }
  }

  // The source pixels, without the last axis, that the targets of a row read: one of the two, the other is scratch.
  const Offsets& find_outer(int64_t row, Offsets (&both)[2]) const {
    int64_t target[kMaxNdim];
    for (int i = ndim() - 2; i >= 0; --i) {
      target[i] = row % axis(i).target_size();
      row /= axis(i).target_size();
    }
    both[0].clear();
    both[0].add(row, 0);  // the image
    for (int i = 0; i + 1 < ndim(); ++i) {
      const Offsets& shorter = both[i % 2];
      Offsets& longer = both[(i + 1) % 2];
      const Places places = axis(i).places(target[i]);
      longer.clear();
      for (size_t j = 0; j < shorter.offset.size(); ++j) {
        int64_t number = places.number;
        for (int64_t k = 0; k < places.count; ++k, number += axis(i).number_step()) {
          longer.add(shorter.offset[j] * axis(i).source_size() + places.first + k,
                     shorter.place[j] * axis(i).ksize + number);
        }
      }
    }
    return both[(ndim() - 1) % 2];
  }

  PoolingRun make_run(int64_t row, const Columns& columns, const Offsets& outer, Offsets* all) const {
    const Places& places = columns.places;
    all->clear();
    for (size_t j = 0; j < outer.offset.size(); ++j) {
      const int64_t offset = outer.offset[j] * last().source_size() + places.first;
      const int64_t place = outer.place[j] * last().ksize + places.number;
      for (int64_t k = 0; k < places.count; ++k) {
        all->add((offset + k) * channels_, place + k * last().number_step());
      }
    }
    PoolingRun run;
    run.offset = all->offset.data();
    run.place = all->place.data();
    run.count = static_cast<int64_t>(all->offset.size());
    run.source_step = (last().backward ? 1 : last().stride) * channels_;
    run.target = (row * last().target_size() + columns.target) * channels_;
    run.target_step = last().period() * channels_;
    run.pixels = columns.count;
    run.channels = channels_;
    return run;
  }

  int64_t images_, channels_, rows_ = 1, chunk_ = 1;
  SmallVector<Axis, 3> axes_;
  SmallVector<Columns, 16> columns_;
};

/// The array channels-last and without gaps: a copy unless it is so already.
Array channels_last_of(const Array& array) {
  if (array.is_channels_last()) return array;
  const Array result =
      empty_strided(array.shape(), channels_last_strides(array.shape()), array.dtype(), array.device());
  result.copy_from(array);
  return result;
}

/// Where loops write what belongs into an array, channels-last and without gaps. The array must outlive this.
class Result {
 public:
  explicit Result(const Array& array) : array_{array}, written_{array} {
    if (array.is_channels_last()) return;
    written_ = empty_strided(array.shape(), channels_last_strides(array.shape()), array.dtype(), array.device());
  }
  void* data() const { return written_.raw_data(); }
  /// To be called when everything is written.
  void finish() const {
    if (!written_.is_same(array_)) array_.copy_from(written_);
  }

 private:
  const Array& array_;
  Array written_;
};

auto max_alone_of(Dtype dtype) {
  if (dtype == Dtype::uint8) return all_loops().max_of_uint8;
  return dtype == Dtype::int8 ? all_loops().max_of_int8 : loops_for(dtype).max_alone;
}

int index_entry(const Array& index) { return index.dtype() == Dtype::uint8 ? 0 : 1; }

void max_pooling_forward(Params<Pooling> pooling, In x, Out y, Out index) {
  const PoolingPlan plan(*pooling, x->shape(), y->shape(), false);
  const Array from = channels_last_of(x);
  const Result to(y);
  if (index) {
    const Result places(index);
    const auto max = loops_for(x->dtype()).max[index_entry(index)];
    plan.for_each_run([&](const PoolingRun& run) { max(run, from.raw_data(), to.data(), places.data()); });
    places.finish();
  } else {
    const auto max = max_alone_of(x->dtype());
    plan.for_each_run([&](const PoolingRun& run) { max(run, from.raw_data(), to.data()); });
  }
  to.finish();
}

void max_pooling_grad(Params<Pooling> pooling, In gy, In index, Out gx) {
  const PoolingPlan plan(*pooling, gx->shape(), gy->shape(), true);
  const Array from = channels_last_of(gy), places = channels_last_of(index);
  const Result to(gx);
  const auto grad = loops_for(gy->dtype()).grad[index_entry(index)];
  plan.for_each_run([&](const PoolingRun& run) { grad(run, from.raw_data(), places.raw_data(), to.data()); });
  to.finish();
}

void max_pooling_pick(Params<Pooling> pooling, In x, In index, Out y) {
  const PoolingPlan plan(*pooling, x->shape(), y->shape(), false);
  const Array from = channels_last_of(x), places = channels_last_of(index);
  const Result to(y);
  const auto pick = loops_for(x->dtype()).pick[index_entry(index)];
  plan.for_each_run([&](const PoolingRun& run) { pick(run, from.raw_data(), places.raw_data(), to.data()); });
  to.finish();
}

double divisor_of(const AveragePooling& average, int64_t places) {
  switch (average.divisor) {
    case PoolingDivisor::window:
      return static_cast<double>(kernels::window_size(average.pooling));
    case PoolingDivisor::inside:
      return static_cast<double>(places);
    default:
      return 1;
  }
}

void average_pooling_forward(Params<AveragePooling> average, In x, Out y) {
  const PoolingPlan plan(average->pooling, x->shape(), y->shape(), false);
  const Array from = channels_last_of(x);
  const Result to(y);
  const auto sum = loops_for(x->dtype()).sum;
  plan.for_each_run(
      [&](const PoolingRun& run) { sum(run, from.raw_data(), divisor_of(*average, run.count), to.data()); });
  to.finish();
}

/// gy, each element over the number of places of x in its window.
Array over_places(const Pooling& pooling, const Array& gy, const Shape& x) {
  const PoolingPlan plan(pooling, x, gy.shape(), false);
  const Array result = empty_like(gy);
  const auto sum = loops_for(gy.dtype()).sum;
  plan.for_each_run([&](const PoolingRun& run) {
    const int64_t divisor = run.count;
    PoolingRun itself = run;
    itself.offset = &run.target;
    itself.count = 1;
    itself.source_step = run.target_step;
    sum(itself, gy.raw_data(), static_cast<double>(divisor), result.raw_data());
  });
  return result;
}

void average_pooling_grad(Params<AveragePooling> average, In gy, Out gx) {
  const bool inside = average->divisor == PoolingDivisor::inside;
  if (inside && is_half(gy->dtype())) {  // rounded once, not after each division too
    const Array wide = empty_strided(gx->shape(), channels_last_strides(gx->shape()), Dtype::float32, gx->device());
    average_pooling_grad(average, gy->astype(Dtype::float32), wide);
    return gx->copy_from(wide);
  }
  const PoolingPlan plan(average->pooling, gx->shape(), gy->shape(), true);
  Array from = channels_last_of(gy);
  if (inside) from = over_places(average->pooling, from, gx->shape());
  const double divisor = inside ? 1.0 : divisor_of(*average, 0);
  const Result to(gx);
  const auto sum = loops_for(gy->dtype()).sum;
  plan.for_each_run([&](const PoolingRun& run) { sum(run, from.raw_data(), divisor, to.data()); });
  to.finish();
}

}  // namespace

void register_pooling(Backend& backend) {
  backend.add<kernels::MaxPoolingForward>(&max_pooling_forward);
  backend.add<kernels::MaxPoolingGrad>(&max_pooling_grad);
  backend.add<kernels::MaxPoolingPick>(&max_pooling_pick);
  backend.add<kernels::AveragePoolingForward>(&average_pooling_forward);
  backend.add<kernels::AveragePoolingGrad>(&average_pooling_grad);
}

}  // namespace kusari::cpu
