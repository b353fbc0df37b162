#include "kusari/framework/functions/array/sample_bilinear.h"
#include "kusari/framework/kernels/image_axes.h"

#include "kusari/framework/autograd/cast.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/stack.h"
#include "kusari/framework/functions/array/take_rows.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/sampling.h"

namespace kusari::functions {
namespace {

constexpr int kCorners = 4;
constexpr kernels::RowLookup kLookup{.call = "sample_bilinear", .has_ignored = true, .ignored = -1};

Array both(const Array& a, const Array& b) { return pointwise(kernels::LogicalAnd{}, a, b); }

/// One coordinate of all points, between two neighbours.
struct Axis {
  int64_t size;
  Array inside;        // whether the result depends on the coordinate
  Array first;         // the lower neighbour, from -1, as int64
  Variable weight[2];  // of the lower and of the upper neighbour

  Axis(const Variable& points, int64_t which, int64_t n) : size{n} {
    const double end = static_cast<double>(n);
    const Variable at = get_item(points, {Slice{}, which});
    inside = both(pointwise(kernels::GreaterConst{-1}, at.array()), pointwise(kernels::LessConst{end}, at.array()));
    const Array limited = pointwise(kernels::Clip{-1, end}, at.array());
    const Array low = pointwise(kernels::Clip{-1, end - 1}, pointwise(kernels::Floor{}, limited));
    first = low.astype(Dtype::int64);
    weight[1] = where(Variable(inside, false), at, Variable(limited, false)) - low;
    weight[0] = 1 - weight[1];
  }
  Array neighbour(int upper) const { return pointwise(kernels::AddConst{static_cast<double>(upper)}, first); }
  Array has_neighbour(int upper) const {
    const Array at = neighbour(upper);
    return both(pointwise(kernels::GreaterEqualConst{0}, at),
                pointwise(kernels::LessConst{static_cast<double>(size)}, at));
  }
};

/// For each point the row of its pixel in x as a matrix (N H W, C), -1 outside of the images.
Array pixel_rows(const Axis& column, const Axis& row, int right, int lower) {
  const int64_t n = column.first.shape()[0], pixels = column.size * row.size;
  const Array images = arange(n, Dtype::int64, column.first.device()).reshape({n, 1, 1});
  const Array in_image =
      pointwise(kernels::Add{}, column.neighbour(right),
                pointwise(kernels::MulConst{static_cast<double>(column.size)}, row.neighbour(lower)));
  const Array at =
      pointwise(kernels::Add{}, in_image, pointwise(kernels::MulConst{static_cast<double>(pixels)}, images));
  const Array exists = both(column.has_neighbour(right), row.has_neighbour(lower));
  const Array nowhere = full({1, 1, 1}, -1, Dtype::int64, at.device());
  return pointwise_as(Dtype::int64, kernels::Where{}, exists, at, nowhere).reshape({at.size()});
}

class SampleBilinear final : public FunctionNode {
 public:
  const char* name() const override { return "sample_bilinear"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x, points] = c.args("x", "points");
    c.expect(x.is_floating(), x.ndim() == 4, points.is_floating(), points.ndim() == 4, points.shape(1) == 2,
             x.shape(0) == points.shape(0));
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    const Array &x = in[0], &points = in[1];
    const Shape& size = points.shape();
    const Array y = empty_channels_last({x.shape()[0], x.shape()[1], size[2], size[3]}, x.dtype(), x.device());
    launch<kernels::SampleBilinear>(x.device(), x, points, y);
    return {y};
  }

  Variables backward(const Variables& gy) override {
    const Variable x = retained_input(0), points = retained_input(1);
    if (config().enable_backprop) return differentiable(x, points, gy[0]);
    const Array gx = needs_grad(0) ? empty_channels_last(x.shape(), x.dtype(), x.device()) : Array();
    const Array gpoints = needs_grad(1) ? empty(points.shape(), points.dtype(), points.device()) : Array();
    launch<kernels::SampleBilinearGrad>(x.device(), x.array(), points.array(), gy[0].array(), gx, gpoints);
    return {gx.is_defined() ? Variable(gx, false) : Variable(),
            gpoints.is_defined() ? Variable(gpoints, false) : Variable()};
  }

  // The same from functions that can be differentiated: pixels are rows of a matrix.
  Variables differentiable(const Variable& x, const Variable& points, const Variable& gy) const {
    const Shape &shape = x.shape(), &size = points.shape();
    const int64_t n = shape[0], channels = shape[1], pixels = n * shape[2] * shape[3], count = n * size[2] * size[3];
    const Shape grid{n, size[2], size[3]};
    const Variable rows = reshape(transpose(autograd::cast(x, points.dtype()), kToChannelsLast), {pixels, channels});
    const Variable g = reshape(transpose(autograd::cast(gy, points.dtype()), kToChannelsLast), {count, channels});
    const Axis u(points, 0, shape[3]), v(points, 1, shape[2]);

    Variable d[kCorners], gx;
    for (int k = 0; k < kCorners; ++k) {
      const int right = k % 2, lower = k / 2;
      const Array at = pixel_rows(u, v, right, lower);
      d[k] = reshape(sum(take_rows(rows, at, kLookup) * g, 1), grid);
      const Variable share = reshape(u.weight[right] * v.weight[lower], {count, 1});
      const Variable part = add_rows(g * share, at, pixels, kLookup);
      gx = gx.is_defined() ? gx + part : part;
    }
    const Variable gu = v.weight[0] * (d[1] - d[0]) + v.weight[1] * (d[3] - d[2]);
    const Variable gv = u.weight[0] * (d[2] - d[0]) + u.weight[1] * (d[3] - d[1]);
    gx = transpose(reshape(gx, {n, shape[2], shape[3], channels}), kFromChannelsLast);
    return {autograd::cast(gx, x.dtype()), stack({gu * u.inside, gv * v.inside}, 1)};
  }
};

}  // namespace

Variable sample_bilinear(const Variable& x, const Variable& points) { return apply<SampleBilinear>({x, points}); }

}  // namespace kusari::functions
