#include "kusari/framework/cpu/pointwise.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/broadcast.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/strided.h"

namespace kusari::cpu {
namespace {

/// The result and at most four operands.
constexpr int kMostOperands = 5;

/// A piece of a row, small enough that the threads share long rows.
constexpr int64_t kSegment = 8192;

/// Runs the loop over a segment: directly where all operands allow it, else block by block through buffers.
struct SegmentRunner {
  const StridedLoop& plan;
  PointwiseLoop loop;
  const void* op;
  int inputs;
  BlockWriter writer;
  BlockReader readers[kMostOperands];
  bool all_direct;
  bool by_scalar = false;  // the loop takes one element of the second operand

  void run(const StridedLoop::Cursor& at, int64_t begin, int64_t end) const {
    char* const to = at[0] + begin * plan.row_stride(0);
    const char* from[kMostOperands];
    for (int k = 0; k < inputs; ++k) from[k] = at[k + 1] + begin * plan.row_stride(k + 1);
    if (all_direct) {
      const void* in[kMostOperands];
      std::copy(from, from + inputs, in);
      loop(op, in, to, end - begin);
      return;
    }
    alignas(64) char buffers[kMostOperands][kBlockBytes];
    for (int64_t done = 0; begin + done < end; done += kBlock) {
      const int64_t n = std::min(kBlock, end - begin - done);
      const void* in[kMostOperands];
      for (int k = 0; k < inputs; ++k) {
        const int64_t stride = plan.row_stride(k + 1);
        const bool filled = stride == 0 && done > 0;  // the first block's repeated element serves all
        in[k] = filled ? buffers[k] : readers[k].read(from[k] + done * stride, n, buffers[k]);
      }
      char* const block = to + done * plan.row_stride(0);
      if (writer.is_direct()) {
        loop(op, in, block, n);
      } else {
        loop(op, in, buffers[kMostOperands - 1], n);
        writer.write(buffers[kMostOperands - 1], n, block);
      }
    }
  }
};

/// The loop over whole rows as they lie in memory; there may be many short ones.
void run_rows(const SegmentRunner& runner) {
  const StridedLoop& plan = runner.plan;
  const int64_t n = plan.row_size();
  const int inputs = runner.inputs;
  parallel_for(plan.rows(), std::max<int64_t>(1, kThreadChunk / n), [&](int64_t begin, int64_t end) {
    StridedLoop::Cursor at(plan, begin);
    for (int64_t row = begin; row < end; ++row, at.next()) {
      const void* in[kMostOperands];  // not filled by a loop, which the compiler makes a call of memmove
      in[0] = at[1];
      if (inputs > 1) in[1] = at[2];
      if (inputs > 2) in[2] = at[3];
      if (inputs > 3) in[3] = at[4];
      runner.loop(runner.op, in, at[0], n);
    }
  });
}

/// Whether the loop is over short rows that follow each other in some operands and are the same in the others (a bias).
bool repeats_short_rows(const SegmentRunner& runner) {
  const StridedLoop& plan = runner.plan;
  if (runner.by_scalar || plan.ndim() != 2 || plan.row_size() > kBlock / 4 || plan.outer_stride(0) == 0) return false;
  for (int k = 0; k <= runner.inputs; ++k) {
    const int64_t stride = plan.outer_stride(k);
    if (stride != 0 && stride != plan.row_size() * plan.row_stride(k)) return false;
  }
  return true;
}

/// Repeats the rows that are the same for all in a buffer, so that one call of the loop covers many rows. itemsize: of
/// what the loop computes in.
void run_repeated(const SegmentRunner& runner, int64_t itemsize) {
  const StridedLoop& plan = runner.plan;
  const int64_t n = plan.row_size(), per_block = kBlock / n;
  parallel_for(plan.rows(), std::max<int64_t>(per_block, kThreadChunk / n), [&](int64_t begin, int64_t end) {
    alignas(64) char buffers[kMostOperands][kBlockBytes];
    const int64_t copies = std::min(per_block, end - begin);
    for (int k = 1; k <= runner.inputs; ++k) {
      if (plan.outer_stride(k) != 0) continue;
      const auto bytes = static_cast<size_t>(n * itemsize);
      const void* const row = runner.readers[k - 1].read(plan.base(k), n, buffers[k]);
      for (int64_t i = row == buffers[k] ? 1 : 0; i < copies; ++i) {
        std::memcpy(buffers[k] + static_cast<size_t>(i) * bytes, row, bytes);
      }
    }
    for (int64_t row = begin; row < end; row += per_block) {
      const int64_t count = std::min(per_block, end - row) * n;
      const void* in[kMostOperands];
      for (int k = 1; k <= runner.inputs; ++k) {
        const int64_t stride = plan.outer_stride(k);
        in[k - 1] =
            stride == 0 ? buffers[k] : runner.readers[k - 1].read(plan.base(k) + row * stride, count, buffers[k]);
      }
      char* const to = plan.base(0) + row * plan.outer_stride(0);
      if (runner.writer.is_direct()) {
        runner.loop(runner.op, in, to, count);
      } else {
        runner.loop(runner.op, in, buffers[0], count);
        runner.writer.write(buffers[0], count, to);
      }
    }
  });
}

std::vector<PointwiseLoops>& all_loops() {
  static std::vector<PointwiseLoops>* const loops = new std::vector<PointwiseLoops>;
  return *loops;
}

}  // namespace

void set_loops(KernelId kernel, const PointwiseLoops& loops) {
  std::vector<PointwiseLoops>& all = all_loops();
  const auto index = static_cast<size_t>(kernel.index);
  if (all.size() <= index) all.resize(index + 1);
  all[index] = loops;
}

PointwiseLoops loops_of_kernel(KernelId kernel) {
  const std::vector<PointwiseLoops>& all = all_loops();
  const auto index = static_cast<size_t>(kernel.index);
  return index < all.size() ? all[index] : PointwiseLoops{};
}

void pointwise_general(const PointwiseLoops& loops, const char* call, const void* op,
                       std::span<const Array* const> operands) {
  const Array& y = *operands[0];
  const int inputs = static_cast<int>(operands.size()) - 1;
  for (const Array* x : operands.subspan(1)) check_broadcast(call, *x, y.shape());
  if (y.size() == 0) return;
  Compute compute = compute_of(operands[1]->dtype());
  for (const Array* x : operands.subspan(1)) compute = widest(compute, compute_of(x->dtype()));
  if (y.is_floating()) compute = widest(compute, compute_of(y.dtype()));
  const PointwiseLoop loop = loop_of(loops, compute);
  if (loop == nullptr) {
    throw TypeError(std::string(call) + ": x has dtype " + name(operands[1]->dtype()) + " but must be floating");
  }

  const StridedLoop plan(operands);
  SegmentRunner runner{plan, loop, op, inputs, BlockWriter(y.dtype(), plan.row_stride(0), compute), {}, true};
  runner.all_direct = runner.writer.is_direct();
  for (int k = 0; k < inputs; ++k) {
    const Dtype dtype = operands[static_cast<size_t>(k) + 1]->dtype();
    runner.readers[k] = BlockReader(dtype, plan.row_stride(k + 1), compute);
    runner.all_direct = runner.all_direct && runner.readers[k].is_direct();
  }

  if (inputs == 2 && compute == Compute::float32 && loops.f32_by_scalar != nullptr && runner.writer.is_direct() &&
      runner.readers[0].is_direct() && plan.row_stride(2) == 0 && operands[2]->dtype() == Dtype::float32) {
    runner.loop = loops.f32_by_scalar;
    runner.by_scalar = runner.all_direct = true;
  }

  if (repeats_short_rows(runner)) {
    run_repeated(runner, itemsize(dtype_of_compute(compute)));
    return;
  }
  if (runner.all_direct && plan.row_size() <= kSegment) {
    run_rows(runner);
    return;
  }
  const int64_t row_size = plan.row_size(), segments = (row_size + kSegment - 1) / kSegment;
  const int64_t chunk = std::max<int64_t>(1, kThreadChunk / std::min(row_size, kSegment));
  parallel_for(plan.rows() * segments, chunk, [&](int64_t begin, int64_t end) {
    StridedLoop::Cursor at(plan, begin / segments);
    for (int64_t unit = begin, segment = begin % segments; unit < end; ++unit) {
      runner.run(at, segment * kSegment, std::min(row_size, (segment + 1) * kSegment));
      if (++segment == segments) {
        segment = 0;
        if (unit + 1 < end) at.next();
      }
    }
  });
}

void register_pointwise(Backend& backend) {
  const PointwiseLoops* loops = nullptr;
#define KUSARI_ADD(Op) add_pointwise<kernels::Op>(backend, *loops++);
  loops = KUSARI_LOOPS(isa(), arithmetic_loops);
  KUSARI_ARITHMETIC_OPS(KUSARI_ADD)
  loops = KUSARI_LOOPS(isa(), math_function_loops);
  KUSARI_PLAIN_FUNCTION_OPS(KUSARI_ADD)
#if !defined(KUSARI_INFERENCE_LIBRARY)  // no operator of ONNX needs them, and they are large
  loops = KUSARI_SCALAR_LOOPS(scalar_function_loops);
  KUSARI_SCALAR_FUNCTION_OPS(KUSARI_ADD)
#endif
  loops = KUSARI_LOOPS(isa(), comparison_loops);
  KUSARI_COMPARISON_OPS(KUSARI_ADD)
  loops = KUSARI_LOOPS(isa(), activation_loops);
  KUSARI_ACTIVATION_OPS(KUSARI_ADD)
#undef KUSARI_ADD
}

}  // namespace kusari::cpu
