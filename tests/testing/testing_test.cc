#include "kusari/framework/testing/testing.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/kusari.h"

namespace kusari {
namespace {

using testing::FunctionTestCase;
using testing::FunctionTestError;
using testing::LinkTestCase;
using testing::LinkTestError;
using testing::TestError;

TEST_CASE("assert_allclose names the worst element") {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  CHECK_NOTHROW(testing::assert_allclose(array<double>({1, nan, inf}), array<double>({1 + 1e-5, nan, inf})));
  CHECK_NOTHROW(testing::assert_allclose(ones({2}), ones({2}, Dtype::float64)));
  CHECK_NOTHROW(testing::assert_allclose(zeros({0, 3}), zeros({0, 3})));
  CHECK_NOTHROW(testing::assert_allclose(Array(), Array()));
  CHECK_THROWS_WITH_AS(
      testing::assert_allclose(array<float>({1, 2, 3, 4}, {2, 2}), array<float>({1, 2.5, 3, 7}, {2, 2})),
      "assert_allclose: 2 of 4 elements differ by more than 1e-05 + 0.0001 |y|; most at (1, 1): x is 4, y "
      "is 7 (shape (2, 2), dtypes float32 and float32)",
      TestError);
  CHECK_THROWS_WITH_AS(testing::assert_allclose(ones({2}), ones({3})),
                       "assert_allclose: x has shape (2,) but y has shape (3,)", TestError);
  CHECK_THROWS_WITH_AS(testing::assert_allclose(ones({2}), Array()),
                       "assert_allclose: y is undefined, the other is not", TestError);
  for (const double wrong : {nan, inf, -inf}) {
    CHECK_THROWS_AS(testing::assert_allclose(array<double>({wrong}), array<double>({1})), TestError);
    CHECK_THROWS_AS(testing::assert_allclose(array<double>({1}), array<double>({wrong})), TestError);
  }
  CHECK_THROWS_AS(testing::assert_allclose(array<double>({inf}), array<double>({-inf})), TestError);
  CHECK_THROWS_AS(testing::assert_allclose(ones({1}), ones({1}), {.atol = -1}), ValueError);
}

/// x^2 whose forward, backward or double backward may be wrong.
enum class Fault { none, forward, backward, double_backward, input };

class FaultySquare final : public FunctionNode {
 public:
  explicit FaultySquare(Fault fault) : fault_{fault} {}
  const char* name() const override { return "faulty_square"; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    const Array x = in[0];
    Array y = x * x;
    if (fault_ == Fault::forward) y = y + 0.01;
    if (fault_ == Fault::input) Array(x).copy_from(y);
    return {y};
  }
  Variables backward(const Variables& gy) override {
    const Variable x = retained_input(0);
    if (fault_ == Fault::backward) return {gy[0] * x * 3};
    if (fault_ == Fault::double_backward) return {gy[0] * Variable(x.array(), false) * 2};
    return {gy[0] * x * 2};
  }
  Fault fault_;
};

class SquareTest final : public FunctionTestCase {
 public:
  explicit SquareTest(Fault fault) : fault_{fault} {
    dtypes = {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64};
  }

 private:
  Arrays generate_inputs() override { return {random::uniform({3, 2}, {.low = 0.5, .high = 1})}; }
  Variables forward(const Variables& x) override { return {apply<FaultySquare>({x[0]}, fault_)}; }
  Arrays forward_expected(const Arrays& x) override {
    const Array wide = x[0].astype(Dtype::float64);
    return {wide * wide};
  }
  Fault fault_;
};

std::string fault_found(Fault fault) {
  try {
    SquareTest(fault).run();
  } catch (const FunctionTestError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("a FunctionTestCase finds what is wrong") {
  CHECK(fault_found(Fault::none).empty());
  CHECK(fault_found(Fault::forward).find("forward in bfloat16") == std::string::npos);
  CHECK(fault_found(Fault::forward).starts_with("forward in float16: assert_allclose: "));
  CHECK(fault_found(Fault::backward).starts_with("backward: "));
  CHECK(fault_found(Fault::double_backward).starts_with("double backward: "));
  CHECK(fault_found(Fault::input).find("the function changed input 0") != std::string::npos);
  SquareTest skipped(Fault::backward);
  skipped.skip_backward_test = skipped.skip_double_backward_test = true;
  CHECK_NOTHROW(skipped.run());
}

TEST_CASE("unary functions") {
  CHECK_NOTHROW(testing::unary_math_function_unittest([](const Variable& x) { return F::exp(x); },
                                                      [](double x) { return std::exp(x); }));
  CHECK_THROWS_AS(testing::unary_math_function_unittest([](const Variable& x) { return F::exp(x); },
                                                        [](double x) { return std::exp2(x); }),
                  FunctionTestError);
  CHECK_THROWS_AS(testing::unary_math_function_unittest(nullptr, nullptr), ValueError);
}

class LinearTest final : public LinkTestCase {
 public:
  explicit LinearTest(double wrong = 0) : wrong_{wrong} {}

 private:
  std::unique_ptr<Link> create_link() override { return std::make_unique<L::Linear>(kInfer, 4); }
  Arrays generate_inputs() override { return {random::uniform({2, 3}, {.low = -1})}; }
  Variables forward(Link& link, const Variables& x) override { return {static_cast<L::Linear&>(link)(x[0])}; }
  Arrays forward_expected(Link& link, const Arrays& x) override {
    auto& linear = static_cast<L::Linear&>(link);
    return {F::matmul(x[0], linear.W, {.transb = true}).array() + linear.b.array() + wrong_};
  }
  double wrong_;
};

/// A link that forgets to save one of its values.
class Forgetful : public Link {
 public:
  Forgetful() { scale.set_array(random::uniform({2})); }
  Variable operator()(const Variable& x) const { return x * F::broadcast_to(scale, x.shape()); }
  void serialize(Serializer&) override {}
  Parameter scale{*this, "scale", {2}, 1};
};
class ForgetfulTest final : public LinkTestCase {
  std::unique_ptr<Link> create_link() override { return std::make_unique<Forgetful>(); }
  Arrays generate_inputs() override { return {ones({3, 2})}; }
  Variables forward(Link& link, const Variables& x) override { return {static_cast<Forgetful&>(link)(x[0])}; }
  Arrays forward_expected(Link& link, const Arrays& x) override {
    return {static_cast<Forgetful&>(link)(x[0]).array()};
  }
};

TEST_CASE("a LinkTestCase finds what is wrong") {
  CHECK_NOTHROW(LinearTest().run());
  CHECK_THROWS_WITH_AS(LinearTest(0.5).run(), doctest::Contains("forward: assert_allclose: 8 of 8 elements"),
                       LinkTestError);
  LinearTest one;
  one.param_names = {"/W"};
  CHECK_NOTHROW(one.run_test_backward());
  one.param_names = {"/none"};
  CHECK_THROWS_AS(one.run_test_backward(), KeyError);
  CHECK_THROWS_WITH_AS(ForgetfulTest().run(), doctest::Contains("serialization: "), LinkTestError);
}

TEST_CASE("values go through files") {
  L::Linear a(3, 2), b(3, 2), c(3, 2);
  testing::save_and_load_npz(a, b);
  testing::assert_allclose(b.W, a.W, {.atol = 0, .rtol = 0});
  if (serializers::has_hdf5()) {
    testing::save_and_load_hdf5(a, c);
    testing::assert_allclose(c.W, a.W, {.atol = 0, .rtol = 0});
  }
}

TEST_CASE("a trainer with a mock updater") {
  testing::with_temporary_file("out", [](const std::string& out) {
    auto trainer = testing::get_trainer_with_mock_updater({3, "epoch"}, {.iterations_per_epoch = 4, .out = out});
    std::vector<int64_t> epochs;
    trainer.extend([&](training::Trainer& t) { epochs.push_back(t.updater().iteration()); },
                   {.name = "note", .trigger = {1, "epoch"}});
    trainer.run();
    CHECK(epochs == std::vector<int64_t>{4, 8, 12});
    CHECK(trainer.updater().epoch_detail() == 3);
    CHECK(trainer.updater().is_new_epoch());
    CHECK_THROWS_AS(trainer.updater().get_optimizer("main"), KeyError);
  });
  int calls = 0;
  testing::MockUpdater updater(2, [&] { ++calls; });
  CHECK_FALSE(updater.is_new_epoch());
  updater.update();
  CHECK(calls == 1);
  CHECK(updater.previous_epoch_detail() == 0);
  CHECK_THROWS_AS(testing::MockUpdater(0), ValueError);
}

}  // namespace
}  // namespace kusari
