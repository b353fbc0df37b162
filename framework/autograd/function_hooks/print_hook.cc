#include "kusari/framework/autograd/function_hooks/print_hook.h"

#include <cmath>
#include <cstdio>
#include <iostream>

namespace kusari::function_hooks {
namespace {

std::string describe(const Array& array) {
  if (!array.is_defined()) return "- none\n";
  const std::vector<double> values = array.to_vector<double>();
  double mean = 0, square = 0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  for (const double v : values) square += (v - mean) * (v - mean) / static_cast<double>(values.size());
  char statistics[96];
  std::snprintf(statistics, sizeof(statistics), "mean=%.8f, std=%.8f", mean, std::sqrt(square));
  return "- shape: " + to_string(array.shape()) + ", dtype: " + name(array.dtype()) +
         ", device: " + array.device().name() + ", " + statistics + "\n";
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
