#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kusari/framework/core/dtype.h"
#include "kusari/framework/kernels/user/user_kernel.h"

// Parameter lists of user kernels: "T x, raw float32 table".
namespace kusari::cuda::user {

struct Parameter {
  std::string type;  ///< a dtype's name, or one capital letter
  std::string name;
  bool is_raw = false;

  bool is_placeholder() const { return type.size() == 1; }
};

/// Throws ValueError naming `call` and what is wrong.
std::vector<Parameter> parse_parameters(const std::string& call, const std::string& text);

/// The dtypes that stand for the placeholders of one call.
class TypeBindings {
 public:
  /// Throws TypeError when the argument's dtype is not what its parameter says.
  void bind(const std::string& call, const Parameter& parameter, const UserArgument& argument);
  /// For placeholders that only numbers came for: float64 for a real number, int64 for an integer.
  void bind_numbers(const std::vector<Parameter>& parameters, std::span<const UserArgument> arguments);
  /// The parameter's dtype; throws TypeError when no argument says what its placeholder stands for.
  Dtype dtype_of(const std::string& call, const Parameter& parameter) const;
  /// "using T = float32;" for each placeholder.
  std::string declarations() const;

 private:
  struct Binding {
    Dtype dtype;
    std::string from;  // the parameter that decided
  };
  std::map<std::string, Binding> bindings_;
};

}  // namespace kusari::cuda::user
