#include "kusari/framework/quantization/quantizable_call.h"

#include "kusari/framework/core/error.h"

namespace kusari::quantization {
namespace {

bool has_numbers(const Variable& x) {
  return x.is_defined() && x.array().is_defined() && x.array().is_floating() && x.array().size() > 0;
}

std::string describe(const QuantizableCall& call) {
  return call.function + (call.path.empty() ? "" : " of \"" + call.path + "\"");
}

}  // namespace

std::string QuantizableCall::name() const { return path.empty() ? function + "#" + std::to_string(number) : path; }

Operands operands_of(std::string_view function, const InputCaster::Inputs& inputs) {
  const bool is_product = function == "matmul";
  if (!is_product && function != "linear" && !function.starts_with("convolution_") &&
      function != "dilated_convolution_2d" && function != "depthwise_convolution_2d") {
    return Operands::none;
  }
  if (inputs.size() < 2 || !has_numbers(inputs[0]) || !has_numbers(inputs[1])) return Operands::none;
  if (is_product) return Operands::activations;
  return inputs[1].ndim() >= 2 ? Operands::activation_and_weight : Operands::none;
}

const QuantizableCall& CallCounter::next(const char* function) {
  if (count_ < expected_.size() && expected_[count_].function == function) [[likely]]
    return expected_[count_++];
  throw StateError(std::string(owner_) + ": call " + std::to_string(count_ + 1) + " of the model is " + function +
                   (count_ < expected_.size() ? ", but it was " + describe(expected_[count_])
                                              : ", but it made only " + std::to_string(count_) + " calls") +
                   " when it was first observed: a quantized model makes the same calls each time");
}

void CallCounter::finish() const {
  if (count_ == expected_.size()) return;
  throw StateError(std::string(owner_) + ": the model made " + std::to_string(count_) + " calls, but " +
                   std::to_string(expected_.size()) + " when it was first observed: call " +
                   std::to_string(count_ + 1) + ", " + describe(expected_[count_]) + ", is missing");
}

}  // namespace kusari::quantization
