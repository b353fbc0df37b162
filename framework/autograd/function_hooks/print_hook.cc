#include "kusari/framework/autograd/function_hooks/print_hook.h"

#include <iostream>

#include "kusari/framework/autograd/array_statistics.h"

namespace kusari::function_hooks {
namespace {

std::string describe(const Array& array) {
  if (!array.is_defined()) return "- none\n";
  return "- shape: " + to_string(array.shape()) + ", dtype: " + name(array.dtype()) +
         ", device: " + array.device().name() + ", " + autograd::mean_and_std(array) + "\n";
}

}  // namespace

PrintHook::PrintHook() : PrintHook(std::cout) {}

void PrintHook::forward_preprocess(const FunctionNode& function, const ArrayRefs& in) {
  std::string text = std::string("forward ") + function.name() + "\ninput data\n";
  for (size_t i = 0; i < in.size(); ++i) text += describe(in[i]);
  *out_ << text << std::flush;
}

void PrintHook::backward_preprocess(const FunctionNode& function, const Variables& gy) {
  std::string text = std::string("backward ") + function.name() + "\noutput gradient\n";
  for (const Variable& g : gy) text += describe(g.is_defined() ? g.array() : Array());
  *out_ << text << std::flush;
}

}  // namespace kusari::function_hooks
