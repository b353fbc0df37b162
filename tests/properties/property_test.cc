#include "kusari/tests/properties/property.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/philox.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/tests/text_search.h"

// That the checks of properties find what is wrong.
namespace kusari {
namespace {

using namespace testing;

/// What find_failure says about a function that should be the square of its argument.
std::string try_square(const std::function<Variable(const Variable&)>& function) {
  return find_failure(
      [&](Draw& draw) -> PropertyCase {
        return {.inputs = {draw.real(draw.shape(1, 3), 0.5, 2)},
                .function = [&](const Variables& x) { return Variables{function(x[0])}; },
                .reference =
                    [](const References& x) { return References{naive::map([](double v) { return v * v; }, x[0])}; }};
      },
      1, 50);
}

/// x^2 whose derivative of the given order is 1% too large.
class WrongSquare final : public FunctionNode {
 public:
  explicit WrongSquare(int wrong_order) : wrong_order_{wrong_order} {}
  const char* name() const override { return "wrong_square"; }

 private:
  // Its backward is 2 x, but its own derivative is wrong.
  class Double final : public FunctionNode {
   public:
    const char* name() const override { return "double"; }

   private:
    Arrays forward(const ArrayRefs& in) override { return {(Variable(in[0], false) * 2).array()}; }
    Variables backward(const Variables& gy) override { return {gy[0] * 2.02}; }
  };

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    return {F::square(Variable(in[0], false)).array()};
  }
  Variables backward(const Variables& gy) override {
    const Variable x = retained_input(0);
    if (wrong_order_ == 1) return {gy[0] * x * 2.02};
    return {gy[0] * apply<Double>({x})};
  }

  int wrong_order_;
};

TEST_CASE("check_property passes what is right") {
  CHECK(try_square([](const Variable& x) { return F::square(x); }) == "");
}

TEST_CASE("check_property tells wrong values, shapes and dtypes") {
  const std::string wrong = try_square([](const Variable& x) { return x * x * (1 + 1e-8); });
  CHECK(contains(wrong, "case 0 of 50 (seed 1), inputs float64("));
  CHECK(contains(wrong, ": float64 values: output 0 at ("));
  CHECK(contains(try_square([](const Variable& x) { return F::square(x).array().expand_dims(0); }), " has shape (1, "));
}

TEST_CASE("check_property tells a number where the reference is infinite") {
  const std::string wrong = find_failure(
      [](Draw& draw) -> PropertyCase {
        return {.inputs = {draw.real({2}, 1, 2)},
                .function = [](const Variables& x) { return Variables{x[0]}; },
                .reference =
                    [](const References&) {
                      return References{{{2}, {HUGE_VAL, HUGE_VAL}}};
                    }};
      },
      1, 1);
  CHECK(contains(wrong, " instead of inf"));
}

TEST_CASE("check_property tells what only float32 gets wrong") {
  const auto rough = [](const Variable& x) {
    return x.dtype() == Dtype::float32 ? F::square(F::cast(F::cast(x, Dtype::float16), Dtype::float32)) : F::square(x);
  };
  CHECK(contains(try_square(rough), ": float32 values: output 0 at "));
  const auto wide = [](const Variable& x) { return F::square(F::cast(x, Dtype::float64)); };
  CHECK(contains(try_square(wide), "output 0 has dtype float64 instead of float32"));
}

TEST_CASE("check_property tells wrong gradients of both orders") {
  const auto wrong = [](int order) {
    return try_square([order](const Variable& x) { return apply<WrongSquare>({x}, order); });
  };
  CHECK(contains(wrong(1), ": gradients of the first order: gradient_check::check_backward: the gradient is wrong"));
  CHECK(contains(wrong(2), ": gradients of the second order: gradient_check::check_double_backward: "));
}

TEST_CASE("check_property tells code that takes every array for one in C order") {
  const auto careless = [](const Variable& x) {
    const Array view = x.array();
    return F::square(Variable(view.as_strided(view.shape(), contiguous_strides(view.shape()), 0), false));
  };
  CHECK(contains(try_square(careless), ": float64 values: "));
}

TEST_CASE("check_property tells an error with the case") {
  const std::string text = try_square([](const Variable& x) { return x.ndim() == 2 ? x + ones({7, 7, 7, 7}) : x * x; });
  CHECK(contains(text, "float64("));
  CHECK(contains(text, "(7, 7, 7, 7)"));
}

TEST_CASE("Draw is the same everywhere") {
  Draw draw(1);  // the first words of the stream of seed 1, by the generator's definition
  CHECK(draw.integer(0, 99) == static_cast<int64_t>((100 * uint64_t{philox_word(1, 0)}) >> 32));
  CHECK(draw.number(-1, 1) == -1 + 2 * (philox_word(1, 1) + 0.5) * 0x1p-32);
}

TEST_CASE("Draw keeps its promises") {
  Draw draw(3);
  int empty = 0, permuted = 0, strided = 0, backwards = 0;
  for (int i = 0; i < 300; ++i) {
    const Shape shape = draw.shape(1, 3, 4, true);
    CHECK((shape.ndim() >= 1 && shape.ndim() <= 3));
    empty += numel(shape) == 0 ? 1 : 0;
    for (const double v : draw.real_away(shape, -1, 1, {0, 0.5}).to_vector<double>()) {
      CHECK((v > -1 && v < 1 && std::abs(v) >= 0.05 && std::abs(v - 0.5) >= 0.05));
    }
    std::vector<double> apart = draw.distinct(shape, 0.2).to_vector<double>();
    std::sort(apart.begin(), apart.end());
    for (size_t k = 1; k < apart.size(); ++k) CHECK(apart[k] - apart[k - 1] >= 0.2);
    const Shape small = draw.broadcastable(shape);
    CHECK(naive::broadcast_shape({small, shape}) == shape);
    const std::vector<int64_t> axes = draw.axes(shape.ndim());
    CHECK(!axes.empty());
    std::set<int> distinct_axes;
    for (const int64_t axis : axes) distinct_axes.insert(normalize_axis(axis, shape.ndim(), "test"));
    CHECK(distinct_axes.size() == axes.size());

    const Array x = draw.real(shape, 0, 1), view = draw.view(x);
    CHECK(view.shape() == shape);
    CHECK(view.to_vector<double>() == x.to_vector<double>());
    permuted += view.is_dense() && !view.is_contiguous() ? 1 : 0;
    strided += view.is_dense() ? 0 : 1;
    for (const int64_t stride : view.strides()) backwards += stride < 0 ? 1 : 0;
  }
  CHECK(empty > 5);
  CHECK(permuted > 20);
  CHECK(strided > 50);
  CHECK(backwards > 50);
}

TEST_CASE("naive loops") {
  const Reference x{{2, 3}, {1, 2, 3, 4, 5, 6}};
  const int64_t first[] = {0}, last[] = {-1}, swapped[] = {1, 0};
  CHECK(naive::reduce(x, first, false, naive::sum).values == std::vector<double>{5, 7, 9});
  CHECK(naive::reduce(x, last, true, naive::mean).values == std::vector<double>{2, 5});
  CHECK(naive::reduce(x, last, true, naive::mean).shape == Shape{2, 1});
  CHECK(naive::reduce(x, naive::all_axes(2), false, naive::sum).values == std::vector<double>{21});
  CHECK(naive::transpose(x, swapped).values == std::vector<double>{1, 4, 2, 5, 3, 6});
  CHECK(naive::transpose(x, swapped).shape == Shape{3, 2});
  const Reference column{{2, 1}, {10, 20}};
  CHECK(naive::map(std::plus<double>(), column, x).values == std::vector<double>{11, 12, 13, 24, 25, 26});
  CHECK(naive::broadcast_to(column, {2, 2}).values == std::vector<double>{10, 10, 20, 20});
  CHECK(naive::make({}, [](const Shape&) { return 3.0; }).values == std::vector<double>{3});
}

}  // namespace
}  // namespace kusari
