#include "kusari/framework/testing/function_test_case.h"

#include <algorithm>
#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/initializers/random_array.h"

namespace kusari::testing {
namespace {

/// Runs a part of a test, whose failures become `Failure`, with what it was.
template <class Failure, class Part>
void attempt(const std::string& what, Part&& part) {
  try {
    part();
  } catch (const Failure&) {
    throw;
  } catch (const TestError& error) {
    throw Failure(what + ": " + error.what());
  } catch (const gradient_check::GradientError& error) {
    throw Failure(what + ": " + error.what());
  }
}

Arrays in_dtype(const Arrays& arrays, Dtype dtype) {
  Arrays converted;
  for (const Array& array : arrays) {
    converted.push_back(array.is_defined() && array.is_floating() ? array.astype(dtype) : array);
  }
  return converted;
}

/// The same numbers in another order of memory.
Arrays reordered(const Arrays& arrays) {
  Arrays other;
  for (const Array& array : arrays) {
    other.push_back(array.is_defined() ? array.transpose().contiguous().transpose() : array);
  }
  return other;
}

Variables as_variables(const Arrays& arrays) {
  Variables variables;
  for (const Array& array : arrays) {
    variables.push_back(array.is_defined() ? Variable(array, array.is_floating()) : Variable());
  }
  return variables;
}

Arrays copies(const Arrays& arrays) {
  Arrays copied;
  for (const Array& array : arrays) copied.push_back(array.is_defined() ? array.copy() : array);
  return copied;
}

}  // namespace

FunctionTestError::FunctionTestError(const std::string& message) : TestError(message) {}
FunctionTestError::~FunctionTestError() = default;

FunctionTestCase::~FunctionTestCase() = default;

void FunctionTestCase::run() {
  run_test_forward();
  if (!skip_backward_test) run_test_backward();
  if (!skip_double_backward_test) run_test_double_backward();
}

void FunctionTestCase::run_test_forward() {
  const Arrays drawn = generate_inputs();
  for (const Dtype dtype : dtypes) {
    const Arrays inputs = in_dtype(drawn, dtype);
    const Arrays expected = forward_expected(copies(inputs));
    Tolerance tolerance = check_forward_options;
    const double least = dtype == Dtype::float16 ? 5e-3 : dtype == Dtype::bfloat16 ? 4e-2 : 0;
    tolerance.atol = std::max(tolerance.atol, least);
    tolerance.rtol = std::max(tolerance.rtol, least);
    for (const bool contiguous : {true, false}) {
      const std::string what = std::string("forward in ") + name(dtype) + (contiguous ? "" : ", inputs not contiguous");
      attempt<FunctionTestError>(what, [&] {
        const Arrays given = contiguous ? inputs : reordered(inputs), before = copies(given);
        const Variables outputs = forward(as_variables(given));
        if (outputs.size() != expected.size()) {
          throw TestError("there are " + std::to_string(outputs.size()) + " results but " +
                          std::to_string(expected.size()) + " are expected");
        }
        for (size_t i = 0; i < outputs.size(); ++i) assert_allclose(outputs[i].array(), expected[i], tolerance);
        for (size_t i = 0; i < given.size(); ++i) {
          attempt<FunctionTestError>(what + ": the function changed input " + std::to_string(i),
                                     [&] { assert_allclose(given[i], before[i], {.atol = 0, .rtol = 0}); });
        }
      });
    }
  }
}

Arrays FunctionTestCase::generate_grad_outputs(const Arrays& outputs) {
  Arrays gradients;
  for (const Array& output : outputs) {
    gradients.push_back(output.is_floating() ? random::normal(output.shape(), {.dtype = output.dtype()}) : Array());
  }
  return gradients;
}

void FunctionTestCase::run_test_backward() {
  const Arrays inputs = in_dtype(generate_inputs(), Dtype::float64);
  const auto call = [&](const Variables& x) { return forward(x); };
  attempt<FunctionTestError>("backward", [&] {
    Arrays outputs;
    for (const Variable& output : forward(as_variables(inputs))) outputs.push_back(output.array());
    gradient_check::check_backward(call, inputs, generate_grad_outputs(outputs), check_backward_options);
  });
}

void FunctionTestCase::run_test_double_backward() {
  const Arrays inputs = in_dtype(generate_inputs(), Dtype::float64);
  const auto call = [&](const Variables& x) { return forward(x); };
  attempt<FunctionTestError>("double backward", [&] {
    Arrays outputs;
    for (const Variable& output : forward(as_variables(inputs))) outputs.push_back(output.array());
    gradient_check::check_double_backward(call, inputs, generate_grad_outputs(outputs), {},
                                          check_double_backward_options);
  });
}

void unary_math_function_unittest(const Callable<Variable(const Variable&)>& function,
                                  const Callable<double(double)>& formula, double low, double high) {
  argument::callable("unary_math_function_unittest", "function", function);
  argument::callable("unary_math_function_unittest", "formula", formula);

  class UnaryTest final : public FunctionTestCase {
   public:
    UnaryTest(const Callable<Variable(const Variable&)>& function, const Callable<double(double)>& formula, Array x)
        : function_{function}, formula_{formula}, x_{std::move(x)} {
      dtypes = {Dtype::float16, Dtype::float32, Dtype::float64};
    }

   private:
    Arrays generate_inputs() override { return {x_}; }
    Variables forward(const Variables& x) override { return {function_(x[0])}; }
    Arrays forward_expected(const Arrays& x) override {
      std::vector<double> values = x[0].to_vector<double>();
      for (double& value : values) value = formula_(value);
      return {array<double>(values, x[0].shape())};
    }

    const Callable<Variable(const Variable&)>& function_;
    const Callable<double(double)>& formula_;
    Array x_;
  };
  for (const Shape& shape : {Shape{3, 2}, Shape{}, Shape{0, 2}}) {
    UnaryTest(function, formula, random::uniform(shape, {.low = low, .high = high, .dtype = Dtype::float64})).run();
  }
}

}  // namespace kusari::testing
