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
  std::span<const Array> read;
  std::span<const Array> arrays;
  Dtype dtype;

  char* element(const Array& array, int64_t index) const {
    return static_cast<char*>(array.raw_data()) + index * itemsize(dtype);
  }
  const Array& array(int64_t which, size_t tensor) const {
    return arrays[static_cast<size_t>(which) * read.size() + tensor];
  }

  const double* numbers(size_t tensor) const {
    const int64_t stride = all_numbers.ndim() == 2 ? all_numbers.shape()[1] : 0;
    return all_numbers.data<double>() + static_cast<int64_t>(tensor) * stride;
  }

  void run(size_t tensor, int64_t begin, int64_t end) const {
    if (is_half(dtype)) return run_half(tensor, begin, end);
    void* to[kMaxArrays];
    for (int64_t k = 0; k < loops.arrays; ++k) to[k] = element(array(k, tensor), begin);
    (dtype == Dtype::float64 ? loops.f64 : loops.f32)(numbers(tensor), element(read[tensor], begin), to, end - begin);
  }

  void run_half(size_t tensor, int64_t begin, int64_t end) const {
    const ConvertLoop widen = convert_loop(dtype, Dtype::float32), narrow = convert_loop(Dtype::float32, dtype);
    alignas(64) float from[kBlock], buffers[kMaxArrays][kBlock];
    void* to[kMaxArrays];
    for (int64_t k = 0; k < loops.arrays; ++k) to[k] = buffers[k];
    for (int64_t at = begin; at < end; at += kBlock) {
      const int64_t n = std::min(kBlock, end - at);
      widen(element(read[tensor], at), from, n);
      for (int64_t k = 0; k < loops.arrays; ++k) widen(element(array(k, tensor), at), buffers[k], n);
      loops.f32(numbers(tensor), from, to, n);
      for (int64_t k = 0; k < loops.arrays; ++k) narrow(buffers[k], element(array(k, tensor), at), n);
    }
  }
};

enum StepIndex : size_t {
#define KUSARI_STEP_INDEX(Op) k##Op,
  KUSARI_OPTIMIZER_STEPS(KUSARI_STEP_INDEX)
#undef KUSARI_STEP_INDEX
};

void step(size_t index, const Array& numbers, std::span<const Array> read, std::span<const Array> arrays) {
  if (read.empty()) return;
  const StepLoops& loops = KUSARI_LOOPS(isa(), step_loops)[index];
  const StepRunner runner{loops, numbers, read, arrays, read[0].dtype()};
  if (total_size(read) <= kThreadChunk) {
    for (size_t i = 0; i < read.size(); ++i) runner.run(i, 0, read[i].size());
    return;
  }
  const Pieces pieces(read);
  pieces.run([&](const Piece& piece, int64_t) { runner.run(piece.tensor, piece.begin, piece.end); });
}

template <StepIndex kIndex>
void step_kernel(DeviceScalar numbers, In guard, InList read, InOutList arrays) {
  if (guard && !std::isfinite(*guard->data<double>())) return;
  step(kIndex, *numbers, read.arrays(), arrays.arrays());
}

void convert_tensors(Params<double> factor, InList from, InOutList to) {
  if (from.arrays().empty()) return;
  const Dtype source = from.arrays()[0].dtype(), target = to.arrays()[0].dtype();
  const ConvertLoop convert = convert_loop(source, target);
  Pieces(from.arrays()).run([&](const Piece& piece, int64_t) {
    const auto at = [&](const Array& array, Dtype dtype) {
      return static_cast<char*>(array.raw_data()) + piece.begin * itemsize(dtype);
    };
    convert(at(from.arrays()[piece.tensor], source), at(to.arrays()[piece.tensor], target), piece.end - piece.begin);
  });
  if (*factor != 1) step(kScaleHook, full({1}, *factor, Dtype::float64), to.arrays(), to.arrays());
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

}  // namespace

void register_optimizer(Backend& backend) {
#define KUSARI_ADD_STEP(Op) backend.add<kernels::OptimizerStep<kernels::Op>>(step_kernel<k##Op>);
  KUSARI_OPTIMIZER_STEPS(KUSARI_ADD_STEP)
#undef KUSARI_ADD_STEP
  backend.add<kernels::ConvertTensors>(convert_tensors);
  backend.add<kernels::SquaredNorm>(squared_norm);
  backend.add<kernels::GradientClippingNumbers>(gradient_clipping_numbers);
  backend.add<kernels::GradientLarsNumbers>(gradient_lars_numbers);
}

}  // namespace kusari::cpu
