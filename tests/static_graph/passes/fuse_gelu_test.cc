#include "kusari/framework/static_graph/passes/fuse_gelu.h"

#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/tests/static_graph/program_testing.h"

namespace kusari::graphs {
namespace {

using kernels::AddConst;
using kernels::DivConst;
using kernels::Erf;
using kernels::Mul;
using kernels::MulConst;
using kernels::Tanh;

/// Where 1 + erf or tanh is multiplied with x and one half.
enum class Order { product_then_half, half_of_x, half_of_sum };

struct Function {
  ProgramBuilder b;
  View x = b.input({4, 33}), y = b.result({4, 33});

  View erf() { return b.pointwise(Erf{}, b.pointwise(DivConst{1.4142135381698608}, x)); }
  View tanh(const View& cube) {
    const View sum = b.pointwise(kernels::Add{}, x, b.pointwise(MulConst{0.044714998453855515}, cube));
    return b.pointwise(Tanh{}, b.pointwise(MulConst{0.7978845834732056}, sum));
  }
  void finish(const View& inner, Order order = Order::product_then_half, double one = 1) {
    if (order == Order::half_of_x) {
      const View half = b.pointwise(MulConst{0.5}, x);
      b.pointwise_to(y, Mul{}, half, b.pointwise(AddConst{one}, inner));
    } else if (order == Order::half_of_sum) {
      b.pointwise_to(y, Mul{}, b.pointwise(MulConst{0.5}, b.pointwise(AddConst{one}, inner)), x);
    } else {
      b.pointwise_to(y, MulConst{0.5}, b.pointwise(Mul{}, x, b.pointwise(AddConst{one}, inner)));
    }
  }
  std::vector<float> run() const {
    const ProgramRunner runner(b.program);
    float* const numbers = runner.at(x).data<float>();
    for (int64_t i = 0; i < numel(x.shape); ++i) numbers[i] = static_cast<float>(0.11 * static_cast<double>(i) - 7);
    runner.run();
    return runner.at(y).to_vector<float>();
  }
  void check(const std::string& kernel) {
    const std::vector<float> separate = run();
    PassLog log;
    CHECK(fuse_gelu(b.program, log) == 1);
    REQUIRE(log.entries.size() == 1);
    CHECK(log.entries[0].what == "made 1 GELUs one kernel each");
    REQUIRE(b.program.steps.size() == 1);
    CHECK(b.program.steps[0].name == kernel);
    const std::vector<float> fused = run();
    REQUIRE(fused.size() == separate.size());
    for (size_t i = 0; i < fused.size(); ++i)
      CHECK(std::abs(fused[i] - separate[i]) <= 2e-6 * (1 + std::abs(fused[i])));
  }
};

TEST_CASE("fuse_gelu: erf and tanh in all orders") {
  for (const Order order : {Order::product_then_half, Order::half_of_x, Order::half_of_sum}) {
    CAPTURE(static_cast<int>(order));
    Function divided, multiplied, power, products;
    divided.finish(divided.erf(), order);
    divided.check("gelu");
    multiplied.finish(multiplied.b.pointwise(Erf{}, multiplied.b.pointwise(MulConst{0.70710678}, multiplied.x)), order);
    multiplied.check("gelu");
    power.finish(power.tanh(power.b.pointwise(kernels::PowConst{3}, power.x)), order);
    power.check("gelu_tanh");
    const View square = products.b.pointwise(Mul{}, products.x, products.x);
    products.finish(products.tanh(products.b.pointwise(Mul{}, products.x, square)), order);
    products.check("gelu_tanh");
  }
}

TEST_CASE("fuse_gelu leaves what is another function") {
  Function f;
  SUBCASE("another number") { f.finish(f.erf(), Order::half_of_x, 1.5); }
  SUBCASE("another power") { f.finish(f.tanh(f.b.pointwise(kernels::PowConst{2.5}, f.x))); }
  SUBCASE("the power of another array") { f.finish(f.tanh(f.b.pointwise(kernels::PowConst{3}, f.b.input(f.x.shape)))); }
  SUBCASE("somebody else reads erf") {
    const View erf = f.erf();
    f.finish(erf);
    f.b.pointwise_to(f.b.result(f.x.shape), Tanh{}, erf);
  }
  SUBCASE("times another array") {
    const View sum = f.b.pointwise(AddConst{1}, f.erf());
    f.b.pointwise_to(f.y, MulConst{0.5}, f.b.pointwise(Mul{}, f.b.input(f.x.shape), sum));
  }
  SUBCASE("x is written in between") {
    const View sum = f.b.pointwise(AddConst{1}, f.erf());
    f.b.pointwise_to(f.x, Tanh{}, f.x);
    f.b.pointwise_to(f.y, MulConst{0.5}, f.b.pointwise(Mul{}, f.x, sum));
  }
  const size_t steps = f.b.program.steps.size();
  PassLog log;
  CHECK(fuse_gelu(f.b.program, log) == 0);
  CHECK(log.entries.empty());
  CHECK(f.b.program.steps.size() == steps);
}

}  // namespace
}  // namespace kusari::graphs
