#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/small_vector.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/optimizer.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/kernels/optimizer.h"
#include "kusari/framework/kernels/optimizer_step.h"

namespace kusari::cpu {
namespace {

constexpr int64_t kMaxArrays = 4;

/// Part of one tensor.
struct Piece {
  size_t tensor;
  int64_t begin;
  int64_t end;
};

/// The chunks, of about kThreadChunk elements each, into which several tensors fall one after the other.
class Pieces {
 public:
  explicit Pieces(std::span<const Array> tensors) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const int64_t size = tensors[i].size();
      for (int64_t begin = 0; begin < size; begin += kThreadChunk) {
        pieces_.push_back({i, begin, std::min(size, begin + kThreadChunk)});
      }
    }
  }
  template <class Body>
  void run(const Body& body) const {
    parallel_for(static_cast<int64_t>(pieces_.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(pieces_[static_cast<size_t>(i)], i);
    });
  }
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (size_t i = 0; i < pieces_.size(); ++i) visit(pieces_[i], i);
  }
  size_t size() const noexcept { return pieces_.size(); }

 private:
  SmallVector<Piece, 32> pieces_;
};

int64_t total_size(std::span<const Array> tensors) {
  int64_t size = 0;
  for (const Array& tensor : tensors) size += tensor.size();
  return size;
}

struct StepRunner {
  const StepLoops& loops;
  const Array& all_numbers;
  std::span<const Array> read, arrays, copies;
  Dtype dtype;       // of arrays
  double read_rate;  // what is read is multiplied by it

  static char* element(const Array& array, int64_t index) {
    return static_cast<char*>(array.raw_data()) + index * itemsize(array.dtype());
  }
  const Array& array(int64_t which, size_t tensor) const {
    return arrays[static_cast<size_t>(which) * read.size() + tensor];
  }

  const double* numbers(size_t tensor) const {
    const int64_t stride = all_numbers.ndim() == 2 ? all_numbers.shape()[1] : 0;
    return all_numbers.data<double>() + static_cast<int64_t>(tensor) * stride;
  }

  void run(size_t tensor, int64_t begin, int64_t end) const {
    if (is_half(dtype) || read[tensor].dtype() != dtype || !copies.empty()) return run_converted(tensor, begin, end);
    void* to[kMaxArrays];
    for (int64_t k = 0; k < loops.arrays; ++k) to[k] = element(array(k, tensor), begin);
    (dtype == Dtype::float64 ? loops.f64 : loops.f32)(numbers(tensor), element(read[tensor], begin), read_rate, to,
                                                      end - begin);
  }

  // In float32, block by block.
  void run_converted(size_t tensor, int64_t begin, int64_t end) const {
    const Array& source = read[tensor];
    const ConvertLoop widen = convert_loop(dtype, Dtype::float32), narrow = convert_loop(Dtype::float32, dtype),
                      widen_read = convert_loop(source.dtype(), Dtype::float32),
                      copy = copies.empty() ? nullptr : convert_loop(Dtype::float32, copies[tensor].dtype());
    alignas(64) float from[kBlock], buffers[kMaxArrays][kBlock];
    void* to[kMaxArrays];
    for (int64_t at = begin; at < end; at += kBlock) {
      const int64_t n = std::min(kBlock, end - at);
      const void* g = element(source, at);
      if (source.dtype() != Dtype::float32) {
        widen_read(g, from, n);
        g = from;
      }
      for (int64_t k = 0; k < loops.arrays; ++k) {
        to[k] = element(array(k, tensor), at);
        if (dtype == Dtype::float32) continue;
        widen(to[k], buffers[k], n);
        to[k] = buffers[k];
      }
      loops.f32(numbers(tensor), g, read_rate, to, n);
      if (copy != nullptr) copy(to[0], element(copies[tensor], at), n);
      if (dtype == Dtype::float32) continue;
      for (int64_t k = 0; k < loops.arrays; ++k) narrow(buffers[k], element(array(k, tensor), at), n);
    }
  }
};

enum StepIndex : size_t {
#define KUSARI_STEP_INDEX(Op) k##Op,
  KUSARI_OPTIMIZER_STEPS(KUSARI_STEP_INDEX)
#undef KUSARI_STEP_INDEX
};
constexpr const char* kStepNames[] = {
#define KUSARI_STEP_NAME(Op) kernels::Op::kName,
    KUSARI_OPTIMIZER_STEPS(KUSARI_STEP_NAME)
#undef KUSARI_STEP_NAME
};

const StepLoops& loops_of(StepIndex index) { return KUSARI_LOOPS(isa(), step_loops)[index]; }

void run_step(const StepRunner& runner) {
  if (total_size(runner.read) <= kThreadChunk) {
    for (size_t i = 0; i < runner.read.size(); ++i) runner.run(i, 0, runner.read[i].size());
    return;
  }
  const Pieces pieces(runner.read);
  pieces.run([&](const Piece& piece, int64_t) { runner.run(piece.tensor, piece.begin, piece.end); });
}

void require_dtypes(const char* call, std::span<const Array> read, std::span<const Array> arrays,
                    std::span<const Array> copies) {
  const Dtype from = read[0].dtype(), to = arrays[0].dtype();
  if (!is_floating(to) || (from != to && !(is_half(from) && to == Dtype::float32))) {
    throw TypeError(std::string(call) + ": gradients have dtype " + name(from) + " and what they change has " +
                    name(to) + ": they must be floating and equal, or 16-bit and float32");
  }
  if (!copies.empty() && !(to == Dtype::float32 && is_half(copies[0].dtype()))) {
    throw TypeError(std::string(call) + ": copies of dtype " + name(copies[0].dtype()) + " of arrays of dtype " +
                    name(to) + ": they must be 16-bit ones of float32");
  }
}

template <StepIndex kIndex>
void step_kernel(DeviceScalar numbers, In guard, In loss_scale, InList read, InOutList arrays, InOutList copies) {
  if (read.arrays().empty()) return;
  require_dtypes(kStepNames[kIndex], read.arrays(), arrays.arrays(), copies.arrays());
  if (guard && !std::isfinite(*guard->data<double>())) return;
  run_step({loops_of(kIndex), *numbers, read.arrays(), arrays.arrays(), copies.arrays(), arrays.arrays()[0].dtype(),
            loss_scale ? 1 / *loss_scale->data<double>() : 1});
}

template <class Schedule>
void step_numbers(DeviceScalar schedule, In skipped, Out numbers) {
  Schedule members;
  std::memcpy(&members, schedule->data<double>(), sizeof(members));
  const double attempts = schedule->data<double>()[sizeof(Schedule) / sizeof(double)];
  const auto step = members(attempts - *skipped->data<double>());
  std::memcpy(numbers->data<double>(), &step, sizeof(step));
}

void loss_scale_update(In squared_norm, Params<kernels::LossScaleRule> rule, InOut state) {
  kernels::LossScaleState members;
  std::memcpy(&members, state->raw_data(), sizeof(members));
  members = (*rule)(members, *squared_norm->data<double>());
  std::memcpy(state->raw_data(), &members, sizeof(members));
}

void convert_tensors(Params<double> factor, In loss_scale, InList from, InOutList to) {
  if (from.arrays().empty()) return;
  const Dtype source = from.arrays()[0].dtype(), target = to.arrays()[0].dtype();
  const ConvertLoop convert = convert_loop(source, target);
  Pieces(from.arrays()).run([&](const Piece& piece, int64_t) {
    const auto at = [&](const Array& array, Dtype dtype) {
      return static_cast<char*>(array.raw_data()) + piece.begin * itemsize(dtype);
    };
    const char* const in = at(from.arrays()[piece.tensor], source);
    char* const out = at(to.arrays()[piece.tensor], target);
    if (in != out) convert(in, out, piece.end - piece.begin);
  });
  const double rate = loss_scale ? *factor / *loss_scale->data<double>() : *factor;
  if (rate == 1) return;
  run_step({loops_of(kScaleHook), full({1}, rate, Dtype::float64), to.arrays(), to.arrays(), {}, target, 1});
}

double square_sum(const SquareSumLoops& loops, const Array& x, int64_t begin, int64_t end) {
  const char* const from = static_cast<const char*>(x.raw_data()) + begin * itemsize(x.dtype());
  if (x.dtype() == Dtype::float64) return loops.f64(from, end - begin);
  if (x.dtype() == Dtype::float32) return loops.f32(from, end - begin);
  const ConvertLoop widen = convert_loop(x.dtype(), Dtype::float32);
  alignas(64) float buffer[kBlock];
  double sum = 0;
  for (int64_t at = 0; at < end - begin; at += kBlock) {
    const int64_t n = std::min(kBlock, end - begin - at);
    widen(from + at * itemsize(x.dtype()), buffer, n);
    sum += loops.f32(buffer, n);
  }
  return sum;
}

void squared_norm(InList x, Out y) {
  const SquareSumLoops& loops = *KUSARI_LOOPS(isa(), square_sum_loops);
  const Pieces pieces(x.arrays());
  SmallVector<double, 32> sums(pieces.size());
  pieces.run([&](const Piece& piece, int64_t i) {
    sums[static_cast<size_t>(i)] = square_sum(loops, x.arrays()[piece.tensor], piece.begin, piece.end);
  });
  double* const to = y->data<double>();
  std::fill_n(to, y->size(), 0.0);
  pieces.for_each([&](const Piece& piece, size_t i) { to[y->size() == 1 ? 0 : piece.tensor] += sums[i]; });
}

void gradient_clipping_numbers(In squared_norm, Params<kernels::ClippingRate> rate, Out numbers) {
  *numbers->data<double>() = (*rate)(*squared_norm->data<double>());
}

void gradient_lars_numbers(In parameters, In gradients, Params<kernels::LarsRate> rate, Out numbers) {
  for (int64_t i = 0; i < parameters->size(); ++i) {
    const double value = (*rate)(parameters->data<double>()[i], gradients->data<double>()[i]);
    const kernels::LarsHook hook{rate->weight_decay, value};
    std::memcpy(numbers->data<double>() + 2 * i, &hook, sizeof(hook));
  }
}

template <class Rule>
void layer_numbers(DeviceScalar numbers, In parameters, In others, In loss_scale, Out rows) {
  Rule rule;
  std::memcpy(&rule, numbers->data<double>(), sizeof(rule));
  const double scale = loss_scale ? *loss_scale->data<double>() : 1;
  for (int64_t i = 0; i < parameters->size(); ++i) {
    const typename Rule::Step step = rule(parameters->data<double>()[i], others->data<double>()[i] / (scale * scale));
    std::memcpy(rows->data<double>() + i * rows->shape()[1], &step, sizeof(step));
  }
}

}  // namespace

void register_optimizer(Backend& backend) {
#define KUSARI_ADD_STEP(Op) backend.add<kernels::OptimizerStep<kernels::Op>>(step_kernel<k##Op>);
  KUSARI_OPTIMIZER_STEPS(KUSARI_ADD_STEP)
#undef KUSARI_ADD_STEP
#define KUSARI_ADD_NUMBERS(Schedule) \
  backend.add<kernels::StepNumbers<kernels::Schedule>>(step_numbers<kernels::Schedule>);
  KUSARI_STEP_SCHEDULES(KUSARI_ADD_NUMBERS)
#undef KUSARI_ADD_NUMBERS
#define KUSARI_ADD_RULE(Rule) backend.add<kernels::LayerNumbers<kernels::Rule>>(layer_numbers<kernels::Rule>);
  KUSARI_LAYER_RULES(KUSARI_ADD_RULE)
#undef KUSARI_ADD_RULE
  backend.add<kernels::LossScaleUpdate>(loss_scale_update);
  backend.add<kernels::ConvertTensors>(convert_tensors);
  backend.add<kernels::SquaredNorm>(squared_norm);
  backend.add<kernels::GradientClippingNumbers>(gradient_clipping_numbers);
  backend.add<kernels::GradientLarsNumbers>(gradient_lars_numbers);
}

}  // namespace kusari::cpu
