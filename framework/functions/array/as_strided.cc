#include "kusari/framework/functions/array/as_strided.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/rows.h"

namespace kusari::functions {
namespace {

/// Which elements of a memory an array holds.
struct Geometry {
  Shape shape;
  Strides strides;
  int64_t offset;

  int64_t lowest() const { return reach(false); }
  int64_t highest() const { return reach(true); }

  // False is certain: no element is held twice.
  bool may_overlap() const {
    std::vector<std::pair<int64_t, int64_t>> axes;  // stride, size
    for (int i = 0; i < shape.ndim(); ++i) {
      if (shape[i] != 1) axes.emplace_back(std::abs(strides[i]), shape[i]);
    }
    std::sort(axes.begin(), axes.end());
    int64_t held = 0;
    for (const auto& [stride, size] : axes) {
      if (stride <= held) return true;
      held += stride * (size - 1);
    }
    return false;
  }

  /// The elements in C order, counted from `first`.
  Array places(int64_t first, const Device& device) const {
    std::vector<int64_t> all = host_vector<int64_t>(shape, "F::as_strided");
    Dims index = Dims::filled(shape.ndim(), 0);
    int64_t at = offset - first;
    for (int64_t& place : all) {
      place = at;
      for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
        at += strides[axis];
        if (++index[axis] < shape[axis]) break;
        at -= strides[axis] * shape[axis];
        index[axis] = 0;
      }
    }
    return array(all, device);
  }

 private:
  int64_t reach(bool up) const {
    int64_t at = offset;
    for (int i = 0; i < shape.ndim(); ++i) {
      if ((strides[i] > 0) == up) at += (shape[i] - 1) * strides[i];
    }
    return at;
  }
};

/// A gradient that lies as `from` says, summed into memory and read as `to` says. An element that the function's input
/// held several times has a share of it in each.
class MoveGradient final : public FunctionNode {
 public:
  MoveGradient(const Geometry& from, const Geometry& to, const Geometry& input) : from_{from}, to_{to}, input_{input} {}
  const char* name() const override { return "as_strided_grad"; }
  void describe(Attributes& options) const override {
    options.set("shape", to_.shape);
    options.set("strides", to_.strides);
    options.set("offset", to_.offset);
    options.set("from_shape", from_.shape);
    options.set("from_strides", from_.strides);
    options.set("from_offset", from_.offset);
  }

 private:
  Arrays forward(const ArrayRefs& in) override {
    const Array& g = in[0];
    const Dtype dtype = g.dtype();
    if (g.size() == 0 || numel(to_.shape) == 0) return {zeros(to_.shape, dtype, g.device())};
    const int64_t first = std::min({from_.lowest(), to_.lowest(), input_.lowest()});
    const int64_t size = std::max({from_.highest(), to_.highest(), input_.highest()}) - first + 1;
    Array memory = zeros({size, 1}, is_half(dtype) ? Dtype::float32 : dtype, g.device());
    add(g, from_, first, memory);
    if (input_.may_overlap()) {
      const Array count = zeros_like(memory);
      add(ones(input_.shape, count.dtype(), g.device()), input_, first, count);
      const kernels::Clip at_least_once{1, std::numeric_limits<double>::infinity()};
      memory = pointwise(kernels::Div{}, memory, pointwise(at_least_once, count));
    }
    return {memory.reshape({size}).as_strided(to_.shape, to_.strides, to_.offset - first).astype(dtype, true)};
  }
  Variables backward(const Variables& gg) override { return {apply<MoveGradient>({gg[0]}, to_, from_, input_)}; }

  static void add(const Array& g, const Geometry& geometry, int64_t first, const Array& memory) {
    const Array rows = g.contiguous().reshape({g.size(), 1});
    const Array places = host_constant([&] { return geometry.places(first, g.device()); });
    launch<kernels::AddRows>(g.device(), kernels::RowLookup{.call = "F::as_strided"}, rows, places, memory);
  }

  Geometry from_, to_, input_;
};

class AsStrided final : public FunctionNode {
 public:
  AsStrided(const Shape& shape, const Strides& strides, std::optional<int64_t> offset)
      : shape_{shape}, strides_{strides}, offset_{offset} {}
  const char* name() const override { return "as_strided"; }
  void describe(Attributes& options) const override {
    options.set("shape", shape_);
    options.set("strides", strides_);
    options.set("offset", offset_);
  }

 private:
  Arrays forward(const ArrayRefs& in) override {
    const Array& x = in[0];
    input_ = {x.shape(), x.strides(), x.offset()};
    return {
        as_function([&] { return x.as_strided(shape_, strides_, offset_.value_or(input_.offset) - input_.offset); })};
  }
  Variables backward(const Variables& gy) override {
    const Geometry output{shape_, strides_, offset_.value_or(input_.offset)};
    return {apply<MoveGradient>({gy[0]}, output, input_, input_)};
  }

  Shape shape_;
  Strides strides_;
  std::optional<int64_t> offset_;
  Geometry input_{};
};

}  // namespace

Variable as_strided(const Variable& x, const Shape& shape, const Strides& strides,
                    std::optional<int64_t> storage_offset) {
  expect_given(x, "F::as_strided", "x");

  return apply<AsStrided>({x}, shape, strides, storage_offset);
}

}  // namespace kusari::functions
