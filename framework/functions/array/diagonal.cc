#include "kusari/framework/functions/array/diagonal.h"

#include <algorithm>
#include <string>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"

namespace kusari::functions {
namespace {

struct Place {
  int64_t offset;
  int rows, columns;  // axes

  Array view_of(const Array& x) const {
    const int64_t above = std::max<int64_t>(offset, 0), below = std::max<int64_t>(-offset, 0);
    const int64_t n = std::max<int64_t>(0, std::min(x.shape()[rows] - below, x.shape()[columns] - above));
    Shape shape;
    Strides strides;
    for (int i = 0; i < x.ndim(); ++i) {
      if (i == rows || i == columns) continue;
      shape.push_back(x.shape()[i]);
      strides.push_back(x.strides()[i]);
    }
    shape.push_back(n);
    strides.push_back(x.strides()[rows] + x.strides()[columns]);
    return x.as_strided(shape, strides, n == 0 ? 0 : above * x.strides()[columns] + below * x.strides()[rows]);
  }
};

class Diagonal final : public FunctionNode {
 public:
  explicit Diagonal(const Place& place) : place_{place} {}
  const char* name() const override { return "diagonal"; }
  void describe(Attributes& options) const override {
    options.set("offset", place_.offset);
    options.set("axis1", place_.rows);
    options.set("axis2", place_.columns);
  }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x] = c.args("x");
    c.expect(x.ndim() >= 2);
  }
  Arrays forward(const ArrayRefs& in) override { return {place_.view_of(in[0])}; }
  Variables backward(const Variables& gy) override;

  Place place_;
};

// Zeros of `shape` with x on the diagonals.
class PutDiagonal final : public FunctionNode {
 public:
  PutDiagonal(const Place& place, const Shape& shape) : place_{place}, shape_{shape} {}
  const char* name() const override { return "diagonal_grad"; }
  void describe(Attributes& options) const override {
    options.set("offset", place_.offset);
    options.set("axis1", place_.rows);
    options.set("axis2", place_.columns);
    options.set("shape", shape_);
  }

 private:
  Arrays forward(const ArrayRefs& in) override {
    const Array y = zeros(shape_, in[0].dtype(), in[0].device());
    if (in[0].size() > 0) place_.view_of(y).copy_from(in[0]);
    return {y};
  }
  Variables backward(const Variables& gy) override { return {apply<Diagonal>({gy[0]}, place_)}; }

  Place place_;
  Shape shape_;
};

Variables Diagonal::backward(const Variables& gy) { return {apply<PutDiagonal>({gy[0]}, place_, input_shape(0))}; }

}  // namespace

Variable diagonal(const Variable& x, const DiagonalOptions& options) {
  if (!x.is_defined() || x.ndim() < 2) return apply<Diagonal>({x}, Place{});  // throws
  const int rows = normalize_axis(options.axis1, x.ndim(), "F::diagonal");
  const int columns = normalize_axis(options.axis2, x.ndim(), "F::diagonal");
  if (rows == columns) {
    throw ValueError("F::diagonal: axis1 " + std::to_string(options.axis1) + " and axis2 " +
                     std::to_string(options.axis2) + " of shape " + to_string(x.shape()) + " are one axis");
  }
  // Beyond the matrix no diagonal has elements.
  const int64_t offset = std::clamp(options.offset, -x.shape()[rows], x.shape()[columns]);
  return apply<Diagonal>({x}, Place{offset, rows, columns});
}

}  // namespace kusari::functions
