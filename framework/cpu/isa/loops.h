#pragma once

#include "kusari/framework/cpu/isa/tables.h"
#include "kusari/framework/kernels/macros.h"

// The loops of the CPU backend. framework/cpu/isa/*.cc are compiled once per instruction set with KUSARI_ISA naming it,
// and framework/cpu/isa.h picks one set at run time. Everything here is plain data and function pointers, and each
// source exports one strong function per table: a weak symbol would be shared between instruction sets.
//
// Every operand of a loop is contiguous, and its elements are float, double or int64 (f32, f64, i64). An output may be
// exactly an input. Results are the same bits in every instruction set and for every number of threads.

namespace kusari::cpu {

using i64 = km::i64;

/// out[i] = op(in[0][i], in[1][i], ...); op is the functor, by address.
using PointwiseLoop = void (*)(const void* op, const void* const* in, void* out, i64 n);

/// Null where the functor does not take the type.
struct PointwiseLoops {
  PointwiseLoop f32;
  PointwiseLoop f64;
  PointwiseLoop i64;
  PointwiseLoop f32_by_scalar;  // in[1] is one element for all; null where there is no such loop
};

/// out[i] = in[i] in another element type.
using ConvertLoop = void (*)(const void* in, void* out, i64 n);

/// Indexed by Dtype: bool, uint8, int8, int32, int64, float16, bfloat16, float32, float64.
struct ConvertLoops {
  static constexpr int kCount = 9;
  ConvertLoop loop[kCount][kCount];  // [from][to]; half types to themselves keep NaN but not its payload
};

/// Reductions of one element type. An accumulator is one element.
struct ReductionLoop {
  /// acc[r] = the reduction of n contiguous elements from x + r * stride, in a tree that depends on n alone.
  void (*rows)(const void* op, const void* x, i64 rows, i64 stride, i64 n, void* acc);
  /// acc[j] = combine(acc[j], map(x[r * stride + j])) for r = 0, 1, .., rows - 1.
  void (*columns)(const void* op, const void* x, i64 rows, i64 stride, i64 n, void* acc);
  /// acc[j] = combine(acc[j], part[j]).
  void (*combine)(const void* op, void* acc, const void* part, i64 n);
  /// acc[j] = the identity of combine.
  void (*clear)(const void* op, void* acc, i64 n);
  /// acc[j] = finish(acc[j], count), count being the number of elements that acc[j] stands for.
  void (*finish)(const void* op, void* acc, i64 n, i64 count);
};

struct ReductionLoops {
  ReductionLoop f32;
  ReductionLoop f64;
  ReductionLoop i64;
};

/// The place of the largest or smallest element: the first of several; a NaN beats all.
struct ArgLoop {
  i64 (*row)(const void* x, i64 n);
  /// Compares row number `row` of n elements with best[j], place[j] and takes the better.
  void (*columns)(const void* x, i64 n, i64 row, void* best, i64* place);
};

struct ArgLoops {
  ArgLoop max_f32, max_f64, max_i64;
  ArgLoop min_f32, min_f64, min_i64;
};

/// Softmax and its relatives along one row of n contiguous elements. Outputs may be inputs.
struct SoftmaxLoop {
  void (*softmax)(const void* x, void* y, i64 n);
  void (*softmax_grad)(const void* y, const void* gy, void* gx, i64 n);
  void (*log_softmax)(const void* x, void* y, i64 n);
  void (*log_softmax_grad)(const void* y, const void* gy, void* gx, i64 n);
  /// *y = log(sum(exp(x))).
  void (*logsumexp)(const void* x, void* y, i64 n);
  /// -log(softmax(x)[label]) = log(*sum) - *score; p = softmax(x) unless p is null. 0 <= label < n.
  void (*cross_entropy)(const void* x, i64 label, void* sum, void* score, void* p, i64 n);
  /// loss[i] = log(sum[i]) - score[i].
  void (*cross_entropy_loss)(const void* sum, const void* score, void* loss, i64 n);
  /// gx = scale * (p - onehot(label)). is_rounded: p was stored in 16 bits, and lacks digits beside 1.
  void (*cross_entropy_grad)(const void* p, bool is_rounded, i64 label, double scale, void* gx, i64 n);
};

struct SoftmaxLoops {
  SoftmaxLoop f32;
  SoftmaxLoop f64;
};

/// The same along the first axis of a matrix of `rows` rows, `stride` elements apart, of n contiguous elements.
struct SoftmaxColumnLoop {
  void (*softmax)(const void* x, void* y, i64 rows, i64 stride, i64 n);
  void (*log_softmax)(const void* x, void* y, i64 rows, i64 stride, i64 n);
  void (*softmax_grad)(const void* y, const void* gy, void* gx, i64 rows, i64 stride, i64 n);
  void (*log_softmax_grad)(const void* y, const void* gy, void* gx, i64 rows, i64 stride, i64 n);
};

struct SoftmaxColumnLoops {
  SoftmaxColumnLoop f32;
  SoftmaxColumnLoop f64;
};

/// Random numbers for places first, first + 1, ... of the stream; see kernels/random.h.
struct RandomLoop {
  void (*uniform)(km::u64 seed, km::u64 first, double low, double high, void* out, i64 n);
  void (*normal)(km::u64 seed, km::u64 first, double mean, double deviation, void* out, i64 n);
  /// mask = u >= ratio ? scale : 0.
  void (*dropout_mask)(km::u64 seed, km::u64 first, double ratio, double scale, void* mask, i64 n);
};

struct RandomLoops {
  RandomLoop f32;
  RandomLoop f64;
};

KUSARI_DECLARE_LOOPS(PointwiseLoops, arithmetic_loops)
KUSARI_DECLARE_LOOPS(PointwiseLoops, math_function_loops)
KUSARI_DECLARE_LOOPS(PointwiseLoops, scalar_function_loops)
KUSARI_DECLARE_LOOPS(PointwiseLoops, comparison_loops)
KUSARI_DECLARE_LOOPS(PointwiseLoops, activation_loops)
KUSARI_DECLARE_LOOPS(ConvertLoops, convert_loops)
KUSARI_DECLARE_LOOPS(ReductionLoops, reduction_loops)
KUSARI_DECLARE_LOOPS(ArgLoops, arg_loops)
KUSARI_DECLARE_LOOPS(SoftmaxLoops, softmax_loops)
KUSARI_DECLARE_LOOPS(SoftmaxColumnLoops, softmax_column_loops)
KUSARI_DECLARE_LOOPS(RandomLoops, random_loops)

}  // namespace kusari::cpu
