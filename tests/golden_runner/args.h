#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/functions/per_axis.h"
#include "kusari/tests/golden_runner/golden_case.h"

namespace kusari::golden {

/// The given arrays of a case by name ("x0"), as variables: the same name gives the same variable.
using Inputs = std::map<std::string, Variable>;

/// The arguments of one call: values by Chainer's parameter names and, in {"*": [...]}, by position. What an adapter
/// does not ask for is an error, so that no option of a case is silently ignored.
class Args {
 public:
  /// `args` is the positional part, `attrs` further keyword arguments.
  Args(const Json& args, const Json& attrs, const Inputs& inputs);

  bool has(const std::string& name) const;
  /// The argument of that name; null when absent.
  const Json& raw(const std::string& name);

  /// An array argument; undefined when absent or None.
  Variable var(const std::string& name);
  Array array(const std::string& name) { return var(name).is_defined() ? var(name).array() : Array(); }
  /// The only array argument, whatever its name.
  Variable only();
  /// A list of arrays, None entries undefined.
  std::vector<Variable> vars(const std::string& name);
  /// A list of lists of arrays.
  std::vector<std::vector<Variable>> nested_vars(const std::string& name);
  /// All positional arguments of {"*": [...]}.
  size_t positional_count() const;
  Variable positional_var(size_t i);
  std::vector<Variable> positional_vars();
  const Json& positional(size_t i);

  double number(const std::string& name, double otherwise);
  int64_t integer(const std::string& name, int64_t otherwise);
  bool flag(const std::string& name, bool otherwise);
  std::string text(const std::string& name, const std::string& otherwise);
  std::optional<double> optional_number(const std::string& name);
  std::optional<int64_t> optional_integer(const std::string& name);
  /// A list of integers, or one integer as a list of one; empty when absent or None.
  std::vector<int64_t> integers(const std::string& name);
  std::vector<double> numbers(const std::string& name);
  Shape shape(const std::string& name) {
    const std::vector<int64_t> values = integers(name);
    return Shape(values.begin(), values.end());
  }
  /// One number or one for each spatial axis.
  PerAxis per_axis(const std::string& name, int64_t otherwise) {
    const Shape values = shape(name);
    return values.empty() ? PerAxis(otherwise) : PerAxis(values);
  }

  /// The variable that an encoded value stands for: an array name, or None.
  Variable decode(const Json& value) const;
  const Inputs& inputs() const { return *inputs_; }

  /// Throws, naming an argument that nobody asked for.
  void check_all_used() const;

 private:
  const Json* find(const std::string& name) const;

  const Inputs* inputs_;
  std::map<std::string, Json> named_;
  std::vector<Json> positional_;
  std::set<std::string> used_;
  std::set<size_t> used_positions_;
};

/// Whether a value is the name of an array: "x" and digits.
bool is_array_name(const Json& value);

}  // namespace kusari::golden
