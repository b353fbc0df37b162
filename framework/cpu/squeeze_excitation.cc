#include "kusari/framework/kernels/squeeze_excitation.h"

#include <algorithm>
#include <cstring>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/channels_last.h"
#include "kusari/framework/cpu/matmul.h"
#include "kusari/framework/cpu/pointwise.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/cpu/scratch.h"
#include "kusari/framework/kernels/arithmetic.h"

namespace kusari::cpu {
namespace {

constexpr int64_t kLine = 2048;              // elements that a loop takes at once, where there are so many
constexpr int64_t kPart = int64_t{1} << 16;  // elements whose sums are one task
constexpr int64_t kMostParts = 16;

/// Positions as lines: as many whole positions as a line has, the last one shorter.
struct Lines {
  int64_t channels, positions;
  int64_t length = std::max<int64_t>(1, kLine / channels) * channels;
  int64_t elements() const { return channels * positions; }
};

PointwiseLoop f32(const PointwiseLoops& loops) { return loop_of(loops, Compute::float32); }

/// to = the sums over elements [begin, end) of x for each channel; begin is a multiple of the line.
void sum(const Lines& lines, const float* x, int64_t begin, int64_t end, float* to) {
  const kernels::Add add;
  const PointwiseLoop loop = f32(pointwise_loops<kernels::Add>);
  const Scratch<float> sums(lines.length);
  std::fill_n(sums.get(), lines.length, 0.0f);
  const auto add_to = [&](float* sum, const float* numbers, int64_t n) {
    const void* const in[] = {sum, numbers};
    loop(&add, in, sum, n);
  };
  for (int64_t at = begin; at < end; at += lines.length) {
    add_to(sums.get(), x + at, std::min(lines.length, end - at));
  }
  std::copy_n(sums.get(), lines.channels, to);
  for (int64_t at = lines.channels; at < lines.length; at += lines.channels) {
    add_to(to, sums.get() + at, lines.channels);
  }
}

/// y = function(W x + bias) for one vector.
void layer(const Array& W, const Array& bias, const kernels::UnaryFunctor& function, const float* x, float* y) {
  const int64_t outs = W.shape()[0], ins = W.shape()[1];
  MatrixProduct p = {Dtype::float32,
                     1,
                     outs,
                     ins,
                     x,
                     ins,
                     1,
                     W.raw_data(),
                     1,
                     ins,
                     y,
                     outs,
                     bias.is_defined() ? bias.raw_data() : nullptr};
  multiply_with_loops(p);
  if (function.kernel.index < 0) return;
  const void* const in[] = {y};
  f32(loops_of_kernel(function.kernel))(function.functor, in, y, outs);
}

void squeeze_excitation(Params<kernels::ExcitationFunctions> functions, In x, In W1, In b1, In W2, In b2, Out y) {
  if (y->size() == 0) return;
  const Array from = channels_last_input(*x), w1 = W1->contiguous(), w2 = W2->contiguous();
  const Array bias1 = b1->is_defined() ? b1->contiguous() : Array(),
              bias2 = b2->is_defined() ? b2->contiguous() : Array();
  const ChannelsLastOutput result(*y);
  const int64_t images = from.shape()[0];
  const Lines lines{from.shape()[1], from.shape()[2] * from.shape()[3]};
  const int64_t size = lines.elements();
  // The parts depend on the sizes alone, and so do the sums.
  const int64_t wanted = std::clamp<int64_t>(size / kPart, 1, kMostParts);
  const int64_t part = ((size + wanted - 1) / wanted + lines.length - 1) / lines.length * lines.length;
  const int64_t parts = (size + part - 1) / part;
  const Scratch<float> sums(images * parts * lines.channels), factors(images * lines.length);
  const auto* const in = from.data<float>();
  parallel_for(images * parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t image = task / parts, first = task % parts * part;
      sum(lines, in + image * size, first, std::min(size, first + part), sums.get() + task * lines.channels);
    }
  });
  const Scratch<float> inner(w1.shape()[0]);
  for (int64_t image = 0; image < images; ++image) {
    float* const means = sums.get() + image * parts * lines.channels;
    float* const factor = factors.get() + image * lines.length;
    for (int64_t c = 0; c < lines.channels; ++c) {
      for (int64_t i = 1; i < parts; ++i) means[c] += means[i * lines.channels + c];
      means[c] /= static_cast<float>(lines.positions);
    }
    layer(w1, bias1, functions->inner, means, inner.get());
    layer(w2, bias2, functions->outer, inner.get(), factor);
    for (int64_t at = lines.channels; at < lines.length; at += lines.channels) {
      std::copy_n(factor, lines.channels, factor + at);
    }
  }
  const kernels::Mul mul;
  const PointwiseLoop loop = f32(pointwise_loops<kernels::Mul>);
  auto* const out = static_cast<float*>(result.data());
  const int64_t rows = (size + lines.length - 1) / lines.length;
  parallel_for(images * rows, std::max<int64_t>(1, kPart / lines.length), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t image = row / rows, first = row % rows * lines.length, at = image * size + first;
      const void* const numbers[] = {in + at, factors.get() + image * lines.length};
      loop(&mul, numbers, out + at, std::min(lines.length, size - first));
    }
  });
  result.finish();
}

}  // namespace

void register_squeeze_excitation(Backend& backend) { backend.add<kernels::SqueezeExcitation>(squeeze_excitation); }

}  // namespace kusari::cpu
