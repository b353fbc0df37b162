#include "kusari/framework/autograd/function_hooks/one_function_hook.h"

#include <string>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/math/trigonometric.h"

namespace kusari {
namespace {

namespace F = functions;

// Notes what it sees of a function.
class NotingHook final : public FunctionHook {
 public:
  void forward_preprocess(const FunctionNode& f, const ArrayRefs&) override { note("<", f); }
  void backward_preprocess(const FunctionNode& f, const Variables&) override { note("[", f); }
  void backward_postprocess(const FunctionNode& f, const Variables&, const Variables&) override { note("]", f); }

  std::string seen;

 private:
  void note(const char* when, const FunctionNode& f) { seen += std::string(when) + f.name() + " "; }
};

TEST_CASE("a hook of one function sees that alone") {
  const Variable x(ones({2}));
  const Variable h = F::exp(x), y = F::sum(F::sin(h) + F::exp(h));
  NotingHook noting;
  function_hooks::OneFunctionHook only(h, noting);
  {
    const ScopedFunctionHook scope(only);
    y.backward();
    F::exp(x);  // another function of the same name
  }
  CHECK(noting.seen == "[exp ]exp ");
  y.backward();
  CHECK(noting.seen == "[exp ]exp ");
  CHECK_THROWS_AS(function_hooks::OneFunctionHook(x, noting), ValueError);
  CHECK_THROWS_AS(function_hooks::OneFunctionHook(Variable(), noting), ValueError);
}

}  // namespace
}  // namespace kusari
