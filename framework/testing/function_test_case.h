#pragma once

#include <string>
#include <vector>

#include "kusari/framework/autograd/gradient_check.h"
#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/testing/assert_allclose.h"

namespace kusari::testing {

/// A function's forward or one of its gradients is wrong. chainer.testing.FunctionTestError.
class KUSARI_API FunctionTestError : public TestError {
 public:
  explicit FunctionTestError(const std::string& message);
  ~FunctionTestError() override;
};

/// The test of a function: derive, say what its inputs, its results and the expected results are, and call run().
///
///   class SwishTest : public testing::FunctionTestCase {
///     Arrays generate_inputs() override { return {random::normal({2, 3})}; }
///     Variables forward(const Variables& x) override { return {swish(x[0])}; }
///     Arrays forward_expected(const Arrays& x) override { return {expected(x[0])}; }
///   };
///   SwishTest().run();
///
/// Each test throws FunctionTestError. Random numbers come from the process's stream. chainer.testing.FunctionTestCase.
class KUSARI_API FunctionTestCase {
 public:
  FunctionTestCase() = default;
  FunctionTestCase(const FunctionTestCase&) = delete;
  FunctionTestCase& operator=(const FunctionTestCase&) = delete;
  virtual ~FunctionTestCase();

  /// What the three tests below say, for inputs converted to each of the dtypes.
  void run();
  /// Results against the expected ones, also for inputs that are not contiguous; inputs must stay as they are.
  void run_test_forward();
  /// Gradients against differences, in float64.
  void run_test_backward();
  /// Gradients of gradients, the same way.
  void run_test_double_backward();

  /// Tolerances of float32 and float64; those of 16-bit dtypes are 5e-3 (float16) and 4e-2 (bfloat16) at least.
  Tolerance check_forward_options = {.atol = 1e-5, .rtol = 1e-4};
  gradient_check::BackwardOptions check_backward_options = {};
  gradient_check::DoubleBackwardOptions check_double_backward_options = {};
  bool skip_backward_test = false;
  bool skip_double_backward_test = false;
  /// Of floating inputs in run_test_forward.
  std::vector<Dtype> dtypes = {Dtype::float32, Dtype::float64};

 protected:
  virtual Arrays generate_inputs() = 0;
  virtual Variables forward(const Variables& inputs) = 0;
  virtual Arrays forward_expected(const Arrays& inputs) = 0;
  /// Gradients of the results with which backward begins; random ones by default.
  virtual Arrays generate_grad_outputs(const Arrays& outputs);
};

/// All that one function of an array promises: values by a formula in each dtype, and both orders of gradients, for
/// arguments in [low, high) of several shapes. chainer.testing.unary_math_function_unittest.
KUSARI_API void unary_math_function_unittest(const Callable<Variable(const Variable&)>& function,
                                             const Callable<double(double)>& formula, double low = -1, double high = 1);

}  // namespace kusari::testing
