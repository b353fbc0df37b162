#include "kusari/framework/autograd/debug_print.h"

#include "kusari/framework/autograd/array_statistics.h"
#include "kusari/framework/core/backend.h"

namespace kusari {

std::string debug_print(const Variable& variable) {
  const Array data = variable.is_defined() ? variable.array() : Array();
  const Array gradient = variable.is_defined() ? variable.grad() : Array();
  const bool has_data = data.is_defined();
  const auto row = [](const char* what, const std::string& value) { return std::string("\n- ") + what + ": " + value; };
  const auto statistics = [](const Array& of) { return of.is_defined() ? autograd::mean_and_std(of) : "None"; };
  return to_string(variable) + row("device", has_data ? data.device().name() : "None") +
         row("backend", has_data ? data.device().backend().name() : "None") +
         row("shape", has_data ? to_string(data.shape()) : "None") +
         row("dtype", has_data ? name(data.dtype()) : "None") + row("statistics", statistics(data)) +
         row("grad", statistics(gradient));
}

std::string label(const Variable& variable) {
  const std::string dtype = name(variable.dtype());
  return variable.ndim() == 0 ? dtype : to_string(variable.shape()) + ", " + dtype;
}

}  // namespace kusari
