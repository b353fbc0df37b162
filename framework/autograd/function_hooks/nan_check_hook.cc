#include "kusari/framework/autograd/function_hooks/nan_check_hook.h"

#include <cmath>
#include <string>

#include "kusari/framework/core/error.h"

namespace kusari::function_hooks {
namespace {

void check(const FunctionNode& function, const char* pass, const Array& array) {
  if (!array.is_defined() || !array.is_floating()) return;
  for (const double value : array.to_vector<double>()) {
    if (std::isnan(value)) {
      throw Error(std::string("NaN is detected on ") + pass + " computation of " + function.name());
    }
  }
}

}  // namespace

void NanCheckHook::forward_postprocess(const FunctionNode& function, const ArrayRefs&, const Arrays& out) {
  for (const Array& array : out) check(function, "forward", array);
}

void NanCheckHook::backward_postprocess(const FunctionNode& function, const Variables&, const Variables& gx) {
  for (const Variable& g : gx) {
    if (g.is_defined()) check(function, "backward", g.array());
  }
}

}  // namespace kusari::function_hooks
