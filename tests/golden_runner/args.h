#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/functions/per_axis.h"
#include "kusari/tests/golden_runner/golden_case.h"
#include "kusari/tests/golden_runner/signature.h"

namespace kusari::golden {

/// The given arrays of a case by name ("x0"), as variables: the same name gives the same variable.
using Inputs = std::map<std::string, Variable>;

/// The arguments of one call, bound to Chainer's parameters: what a case gives by name or, in {"*": [...]}, by
/// position, and Chainer's defaults for the rest. An adapter must read every parameter, given or not: what it has no
/// use for it names in `refuse`. So no argument of a case can be ignored.
class Args {
 public:
  /// `args` is the positional part, `attrs` further keyword arguments. Throws std::runtime_error naming an argument
  /// that the signature does not have, that comes twice or is missing.
  Args(const Signature& signature, const Json& args, const Json& attrs, const Inputs& inputs);

  const Signature& signature() const { return *signature_; }
  /// The argument of that name; null is Python's None.
  const Json& raw(const std::string& name);
  /// For parameters that there is nothing for: throws if the argument is not Chainer's default.
  void refuse(const std::string& name);

  /// An array argument; undefined when None.
  Variable var(const std::string& name) { return decode(raw(name)); }
  Array array(const std::string& name) { return array_of(var(name)); }
  /// The first parameter, an array.
  Variable first();
  /// A list of arrays, None entries undefined.
  std::vector<Variable> vars(const std::string& name);

  /// The arguments of *args.
  const std::vector<Json>& more();
  std::vector<Variable> more_vars();
  /// Those of **kwargs are read by name, which may be absent: then they are null.
  const Json& keyword(const std::string& name);
  /// All of them.
  const Json& keywords();

  double number(const std::string& name);
  int64_t integer(const std::string& name);
  bool flag(const std::string& name);
  std::string text(const std::string& name);
  /// A list of integers, or one integer as a list of one.
  std::vector<int64_t> integers(const std::string& name);
  std::vector<double> numbers(const std::string& name);
  Shape shape(const std::string& name);
  /// One number or one for each spatial axis.
  PerAxis per_axis(const std::string& name) { return PerAxis(shape(name)); }
  /// One of the choices, by its name: `a.choice<F::PadMode>("mode", {{"edge", F::PadMode::edge}})`.
  template <class T>
  T choice(const std::string& name, const std::vector<std::pair<std::string, T>>& choices) {
    const std::string given = text(name);
    for (const auto& [known, value] : choices) {
      if (given == known) return value;
    }
    fail(name, "has nothing here that it stands for");
  }

  // The same, or nothing for None.
  std::optional<double> optional_number(const std::string& name);
  std::optional<int64_t> optional_integer(const std::string& name);
  std::optional<Shape> optional_shape(const std::string& name);
  std::optional<Dtype> optional_dtype(const std::string& name);
  /// None is an empty PerAxis, or shape.
  PerAxis stride(const std::string& name) { return PerAxis(shape_or_empty(name)); }
  Shape shape_or_empty(const std::string& name) { return optional_shape(name).value_or(Shape()); }

  /// The variable that an encoded value stands for: an array name, or None.
  Variable decode(const Json& value) const;
  static Array array_of(const Variable& v) { return v.is_defined() ? v.array() : Array(); }
  const Inputs& inputs() const { return *inputs_; }

  /// Throws, naming an argument that nobody asked for.
  void check_all_used() const;
  /// Throws std::runtime_error with the argument and its value.
  [[noreturn]] void fail(const std::string& name, const std::string& what) const;

 private:
  void bind(const std::string& name, const Json& value);
  const Json& given(const std::string& name, const char* kind);

  const Signature* signature_;
  const Inputs* inputs_;
  std::map<std::string, Json> values_;  // of every parameter
  Json keywords_ = Json::object();      // of **kwargs, in their order
  std::vector<Json> more_;
  std::set<std::string> used_;
  bool more_are_used_ = false;
};

/// Whether a value is the name of an array: "x" and digits.
bool is_array_name(const Json& value);

/// The dtype of that name; throws std::runtime_error.
Dtype dtype_of(const Json& name);

}  // namespace kusari::golden
