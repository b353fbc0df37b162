#include "kusari/cuda/libraries/matmul.h"

#include <algorithm>

#include "kusari/cuda/libraries/matmul_plan.h"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/kernels/matmul.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::cuda {
namespace {

constexpr int kVectorAlignment = 4;   // log2: cuBLASLt's kernels read 16 bytes of the bias at once, unasked
constexpr int64_t kMostLaunches = 8;  // of one batch, before its operands are copied to fewer axes

// Through cuBLASLt; at most one batch axis. False, with nothing enqueued, where there is no algorithm.
bool multiply_planned(Context& context, const MatrixProduct& p, void* sums) {
  const MatmulKey key = key_of(p, sums, config().use_tf32, context.index());
  const MatmulPointers pointers = {p.b.data, p.a.data, p.c.data, sums != nullptr ? sums : p.bias};
  MatmulPlan& plan = MatmulPlan::of(context, key, pointers);
  if (!plan.is_supported()) return false;
  if (config().autotune && !p.accumulate) [[unlikely]]
    plan.tune(context, key, pointers);
  plan.run(context, pointers, p.accumulate);
  return true;
}

bool is_for_library(const MatrixProduct& p) {
  return is_floating(p.a.dtype) && is_library_matrix(p.a, p.m, p.k) && is_library_matrix(p.b, p.k, p.n) &&
         is_library_matrix(p.c, p.m, p.n);
}

// At most one batch axis.
void multiply_one(Context& context, MatrixProduct p) {
  if (!is_for_library(p)) return multiply_with_tiles(context, p);
  const bool is_upright = p.c.column == 1 && p.c.row >= p.n;
  if (p.bias != nullptr && is_upright) {
    if (alignment_of(p.bias) >= kVectorAlignment) {
      if (multiply_planned(context, p, nullptr)) return;
    } else {
      const size_t bytes = static_cast<size_t>(p.n * itemsize(p.c.dtype));
      const Scratch aligned(context, bytes);
      KUSARI_CUDA_CHECK(
          cudaMemcpyAsync(aligned.data<void>(), p.bias, bytes, cudaMemcpyDeviceToDevice, context.stream()));
      MatrixProduct copied = p;
      copied.bias = aligned.data<void>();
      if (multiply_planned(context, copied, nullptr)) return;
    }
  }
  MatrixProduct plain = p;
  if (p.bias != nullptr) {
    write_bias(context, p);
    plain.bias = nullptr;
    plain.accumulate = true;
  }
  if (!is_upright) plain.transpose();
  if (!multiply_planned(context, plain, nullptr)) multiply_with_tiles(context, plain);
}

void multiply_each(Context& context, const MatrixProduct& p) {
  if (p.batch_axes < 2) return multiply_one(context, p);
  // The longest axis is the library's.
  const auto is_shorter = [](const BatchAxis& a, const BatchAxis& b) { return a.size < b.size; };
  const int axis = static_cast<int>(std::min_element(p.batch, p.batch + p.batch_axes, is_shorter) - p.batch);
  for (int64_t i = 0; i < p.batch[axis].size; ++i) {
    MatrixProduct part = p;
    part.move(axis, i);
    part.drop_batch_axis(axis);
    multiply_each(context, part);
  }
}

int64_t launches_of(const MatrixProduct& p) {
  int64_t all = 1, longest = 1;
  for (int i = 0; i < p.batch_axes; ++i) {
    all *= p.batch[i].size;
    longest = std::max(longest, p.batch[i].size);
  }
  return all / longest;
}

}  // namespace

void multiply(Context& context, MatrixProduct product) {
  product.merge_batches();
  product.settle_strides();
  if (is_floating(product.a.dtype)) {
    multiply_each(context, product);
  } else {
    multiply_with_tiles(context, product);
  }
}

bool multiply_with_sums(Context& context, MatrixProduct product, void* sums) {
  product.settle_strides();
  if (!is_for_library(product) || product.c.column != 1 || product.c.row < product.n) return false;
  return alignment_of(sums) >= kVectorAlignment && multiply_planned(context, product, sums);
}

namespace {

Matrix matrix_of(const Array& x, bool transposed) {
  const int n = x.ndim();
  Matrix matrix = {x.data<char>(), x.dtype(), x.strides()[n - 2], x.strides()[n - 1]};
  if (transposed) std::swap(matrix.row, matrix.column);
  return matrix;
}

MatrixProduct product_of(const Array& a, const Array& b, const Array& bias, kernels::MatmulOptions options,
                         const Array& c) {
  MatrixProduct p;
  const int n = c.ndim();
  p.m = c.shape()[n - 2];
  p.n = c.shape()[n - 1];
  p.k = a.shape()[a.ndim() - (options.transa ? 2 : 1)];
  p.a = matrix_of(a, options.transa);
  p.b = matrix_of(b, options.transb);
  p.c = matrix_of(c, false);
  p.bias = bias.is_defined() ? bias.raw_data() : nullptr;
  for (int axis = 0; axis < n - 2; ++axis) {
    const auto step = [&](const Array& x) {
      const int own = axis - (n - x.ndim());
      return own < 0 || x.shape()[own] == 1 ? 0 : x.strides()[own];
    };
    p.add_batch_axis({c.shape()[axis], step(a), step(b), c.strides()[axis]});
  }
  return p;
}

// The arrays are of dtypes that multiply takes; nothing is empty.
void multiply_arrays(const Array& a, const Array& b, const Array& bias, kernels::MatmulOptions options,
                     const Array& c) {
  if (bias.is_defined() && !bias.is_contiguous()) return multiply_arrays(a, b, bias.contiguous(), options, c);
  MatrixProduct p = product_of(a, b, bias, options, c);
  if (is_floating(a.dtype())) {
    p.merge_batches();
    p.settle_strides();
    const bool is_scattered = launches_of(p) > kMostLaunches;
    if (!a.is_contiguous() && (is_scattered || !is_library_matrix(p.a, p.m, p.k))) {
      return multiply_arrays(a.contiguous(), b, bias, options, c);
    }
    if (!b.is_contiguous() && (is_scattered || !is_library_matrix(p.b, p.k, p.n))) {
      return multiply_arrays(a, b.contiguous(), bias, options, c);
    }
    if (!is_library_matrix(p.c, p.m, p.n)) {
      const Array result = empty(c.shape(), c.dtype(), c.device());
      multiply_arrays(a, b, bias, options, result);
      return c.copy_from(result);
    }
  }
  multiply(Context::of(c), p);
}

// What a product is computed from and to.
struct Dtypes {
  Dtype operand, result;
};
Dtypes dtypes_of(const Array& a, const Array& b, const Array& bias, const Array& c) {
  const auto any = [&](auto property) { return property(a.dtype()) || property(b.dtype()) || property(c.dtype()); };
  if (any([](Dtype dtype) { return dtype == Dtype::float64; })) return {Dtype::float64, Dtype::float64};
  if (!any([](Dtype dtype) { return is_floating(dtype); })) {
    const bool is_one =
        a.dtype() == b.dtype() && a.dtype() == c.dtype() && (!bias.is_defined() || bias.dtype() == c.dtype());
    return is_one ? Dtypes{c.dtype(), c.dtype()} : Dtypes{Dtype::int64, Dtype::int64};
  }
  // Products of halves are exact in float32, where they are summed.
  const bool is_half_product = is_half(a.dtype()) && a.dtype() == b.dtype();
  const bool is_half_result =
      is_half_product && c.dtype() == a.dtype() && (!bias.is_defined() || bias.dtype() == c.dtype());
  return {is_half_product ? a.dtype() : Dtype::float32, is_half_result ? c.dtype() : Dtype::float32};
}

void matmul(In a, In b, In bias, Params<kernels::MatmulOptions> options, Out c) {
  const Array &x = *a, &y = *b, &z = *c, &offset = *bias;
  if (z.size() == 0) return;
  if (x.size() == 0 || y.size() == 0) {  // sums of nothing
    if (offset.is_defined()) return z.copy_from(offset);
    return z.fill(0);
  }
  const Dtypes dtypes = dtypes_of(x, y, offset, z);
  const bool is_direct = x.dtype() == dtypes.operand && y.dtype() == dtypes.operand && z.dtype() == dtypes.result &&
                         (!offset.is_defined() || offset.dtype() == dtypes.result);
  if (is_direct) [[likely]]
    return multiply_arrays(x, y, offset, *options, z);
  const bool is_own_result = z.dtype() == dtypes.result;
  const Array result = is_own_result ? z : empty(z.shape(), dtypes.result, z.device());
  multiply_arrays(x.astype(dtypes.operand), y.astype(dtypes.operand),
                  offset.is_defined() ? offset.astype(dtypes.result) : offset, *options, result);
  if (!is_own_result) z.copy_from(result);
}

// Below so many multiplications, a product takes no longer than starting the kernel that adds up the sums does; above,
// cuBLASLt's choice among all kernels is worth more than a pass over a.
constexpr int64_t kSmallProduct = int64_t{1} << 30;

void matmul_with_sums(In a, In b, Params<kernels::MatmulOptions> options, Out c, Out sums) {
  const Array &x = *a, &y = *b, &z = *c, &s = *sums;
  const bool is_one_dtype = x.dtype() == y.dtype() && x.dtype() == z.dtype() && x.dtype() == s.dtype();
  if (is_one_dtype && x.is_floating() && x.dtype() != Dtype::float64 && x.size() > 0 && z.size() > 0 &&
      s.is_contiguous()) {
    const MatrixProduct p = product_of(x, y, Array(), *options, z);
    if (p.m * p.n * p.k < kSmallProduct && multiply_with_sums(Context::of(z), p, s.raw_data())) return;
  }
  matmul(a, b, Array(), options, c);
  launch<kernels::Reduction<kernels::Sum>>(x.device(), kernels::Sum{}, AxisMask::of(options->transa ? 0 : 1), a, sums);
}

}  // namespace

void register_matmul(Backend& backend) {
  backend.add<kernels::Matmul>(matmul);
  backend.add<kernels::MatmulWithSums>(matmul_with_sums);
}

}  // namespace kusari::cuda
