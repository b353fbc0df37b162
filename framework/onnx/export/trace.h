#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/onnx/export_model.h"

// What a call of a model applied: functions and the values between them.
namespace kusari::onnx::exporting {

/// An argument of the model, what a function gave, or a constant: what depends on no argument.
struct Value {
  enum class Kind : uint8_t { argument, computed, constant };
  Kind kind;
  Variable variable;  // keeps the identity
  Array array;
  std::string label = {};  // of a constant that functions made: of what
  Dims grows = {};         // by axis, how much longer it is in a batch with one example more; empty: nothing is
  bool varies = false;     // a constant whose numbers are others there
  int broadcast_of = -1;   // of a constant that F::broadcast_to made: the value that it was given

  bool is_dynamic(int axis) const { return !grows.empty() && grows[axis] != 0; }
  bool is_dynamic() const;
};

inline constexpr int kAbsent = -1;

struct Call {
  std::string function;
  Attributes options;
  std::vector<int> inputs, outputs;     // places in Trace::values
  std::string link;                     // path of the link that applied it
  size_t number = 0;                    // among all calls
  std::optional<std::string> op = {};   // onnx::function's
  std::set<std::string> changing = {};  // options that are others in a larger batch

  /// "call 17, link /solver".
  std::string place() const;
};

/// The elements of an array, wherever the handle is.
struct ArrayKey {
  uint64_t storage;
  const void* data;
  Dtype dtype;
  std::vector<int64_t> geometry;  // shape, then strides
  friend auto operator<=>(const ArrayKey&, const ArrayKey&) = default;
};
ArrayKey key_of(const Array& array);

struct Trace {
  std::vector<Value> values;
  std::vector<Call> calls;
  std::vector<int> arguments, results;
  std::map<ArrayKey, int> by_key;
  /// Storages of what depends on an argument, and what wrote there: "F::relu", or "an operation on arrays".
  std::unordered_map<uint64_t, std::string> dependent;
  int64_t batch = 0;  // with a dynamic batch

  /// The value with these elements, or kAbsent.
  int find(const Array& array) const;
};

/// Calls the model.
Trace trace(const detail::ModelCall& call, Link* link, std::span<const Variable> inputs, bool train);
/// Marks in `small` what differs in `large`, a trace with one example more. Throws ValueError where other functions
/// were applied.
void compare(Trace& small, const Trace& large, int64_t batch);

}  // namespace kusari::onnx::exporting
