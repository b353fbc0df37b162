#include "kusari/framework/autograd/input_caster.h"

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/autograd/cast.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/tests/autograd/nodes.h"

namespace kusari {
namespace {

// Converts the first input to float64, and notes what it was asked about.
class ToDouble : public InputCaster {
 public:
  void cast(const FunctionNode& function, Inputs& inputs) override {
    asked.push_back(function.name());
    if (inputs.size() > 0 && inputs[0].is_defined()) inputs.replace(0, autograd::cast(inputs[0], Dtype::float64));
  }
  bool cast_composite(const char* name, Inputs& inputs) override {
    asked.push_back(std::string("composite ") + name);
    if (!takes_composites) return false;
    for (size_t i = 0; i < inputs.size(); ++i) inputs.replace(i, autograd::cast(inputs[i], Dtype::float64));
    return true;
  }
  std::vector<std::string> asked;
  bool takes_composites = true;
};

Variable of_floats(std::vector<float> values) { return Variable(array(values)); }

Variable composite(const Variable& a, const Variable& b) {
  if (const CompositeInputs in("composite", {a, b}); in.is_cast()) return composite(in[0], in[1]);
  return testing::probe(a, "", nullptr) * testing::probe(b, "", nullptr);
}

using Names = std::vector<std::string>;

TEST_CASE("ScopedInputCaster: the latest scope counts, in whatever order they end") {
  ToDouble a, b;
  CHECK(detail::t_input_caster == nullptr);
  auto first = std::make_unique<ScopedInputCaster>(&a);
  auto second = std::make_unique<ScopedInputCaster>(nullptr);
  auto third = std::make_unique<ScopedInputCaster>(&b);
  CHECK(detail::t_input_caster == &b);
  second.reset();
  CHECK(detail::t_input_caster == &b);
  third.reset();
  CHECK(detail::t_input_caster == &a);
  third = std::make_unique<ScopedInputCaster>(&b);
  first.reset();
  CHECK(detail::t_input_caster == &b);
  third.reset();
  CHECK(detail::t_input_caster == nullptr);
}

TEST_CASE("InputCaster: replaces inputs before they are recorded, and is not asked about its own functions") {
  const Variable x = of_floats({1, 2});
  ToDouble caster;
  std::vector<std::string> log;
  Variable y;
  {
    const ScopedInputCaster scope(&caster);
    y = testing::probe(x, "", &log);
  }
  CHECK(caster.asked == Names{"probe"});
  CHECK(y.dtype() == Dtype::float64);
  y.set_grad(array<double>({3, 4}));
  y.backward();
  CHECK(x.grad().dtype() == Dtype::float32);
  CHECK(x.grad().to_vector<float>() == std::vector<float>{3, 4});
}

TEST_CASE("InputCaster: is not asked during a backward pass") {
  std::vector<std::string> log;
  const Variable x = of_floats({1, 2});
  ToDouble caster;
  const ScopedInputCaster scope(&caster);
  const Variable y = functions::sum(testing::probe(x * 2, "", &log));
  caster.asked.clear();
  y.backward();
  CHECK(log.size() == 1);
  CHECK(caster.asked.empty());
  CHECK(detail::t_input_caster == &caster);
}

TEST_CASE("InputCaster: an exception leaves the caster in place") {
  class Failing : public InputCaster {
    void cast(const FunctionNode&, Inputs&) override { throw ValueError("refused"); }
  } caster;
  const Variable x = of_floats({1, 2});
  const ScopedInputCaster scope(&caster);
  CHECK_THROWS_WITH_AS(testing::probe(x, "", nullptr), "refused", ValueError);
  CHECK(detail::t_input_caster == &caster);
}

TEST_CASE("CompositeInputs: the parts of a composite run without a caster, if this one knows the composite") {
  const Variable a = of_floats({1, 2}), b = of_floats({3, 4});
  ToDouble caster;
  {
    const ScopedInputCaster scope(&caster);
    CHECK(composite(a, b).dtype() == Dtype::float64);
    CHECK(caster.asked == Names{"composite composite"});
    CHECK(detail::t_input_caster == &caster);
    caster.takes_composites = false;
    caster.asked.clear();
    composite(a, b);
    CHECK(caster.asked == Names{"composite composite", "probe", "probe", "mul"});
  }
  caster.asked.clear();
  CHECK(composite(a, b).dtype() == Dtype::float32);
  CHECK(caster.asked.empty());
}

}  // namespace
}  // namespace kusari
