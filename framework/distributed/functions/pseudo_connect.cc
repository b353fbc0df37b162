#include "kusari/framework/distributed/functions/pseudo_connect.h"

#include <vector>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/given.h"

namespace kusari::distributed::functions {
namespace {

class PseudoConnect final : public FunctionNode {
 public:
  const char* name() const override { return "pseudo_connect"; }
  Precision precision() const noexcept override { return Precision::untouched; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    device_ = in[0].device();
    Arrays out;
    for (size_t i = 1; i < in.size(); ++i) out.push_back(in[i]);
    return out;
  }

  Variables backward(const Variables& gy) override {
    Variables gradients(input_count());
    gradients[0] = Variable(zeros(input_shape(0), input_dtype(0), device_), false);
    for (size_t i = 0; i < gy.size(); ++i) gradients[i + 1] = gy[i];
    return gradients;
  }

  Device device_;
};

}  // namespace

Variables pseudo_connect(const Variable& delegate_variable, std::span<const Variable> actual_variables) {
  kusari::functions::expect_all_given(actual_variables, "F::pseudo_connect");
  if (!delegate_variable.is_defined()) {
    Variables unchanged;
    for (const Variable& variable : actual_variables) unchanged.push_back(variable);
    return unchanged;
  }
  std::vector<Variable> inputs{delegate_variable};
  inputs.insert(inputs.end(), actual_variables.begin(), actual_variables.end());
  return apply_all<PseudoConnect>(inputs);
}

Variable pseudo_connect(const Variable& delegate_variable, const Variable& actual_variable) {
  return pseudo_connect(delegate_variable, std::span<const Variable>(&actual_variable, 1))[0];
}

}  // namespace kusari::distributed::functions
