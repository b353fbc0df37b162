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
#include "kusari/framework/onnx/export/dynamic_sizes.h"
#include "kusari/framework/onnx/export_model.h"

// What a call of a model applied: functions and the values between them.
namespace kusari::onnx::exporting {

/// An argument of the model, what a function gave, or a constant: what depends on no argument.
struct Value {
  enum class Kind : uint8_t { argument, computed, constant };
  Kind kind;
  Variable variable;  // keeps the identity
  Array array;
  std::string label = {};             // of a constant that functions made: of what
  int broadcast_of = -1;              // of a constant that F::broadcast_to made: the value that it was given
  std::vector<Shape> elsewhere = {};  // its shapes in the traces of other sizes
  bool varies = false;                // a constant whose numbers are others there
  std::vector<Array> numbers = {};    // of one that varies: what it is there

  Sizes sizes(int axis) const;
  bool is_dynamic(int axis) const { return !is_fixed(sizes(axis)); }
  bool is_dynamic() const;
};

inline constexpr int kAbsent = -1;

struct Call {
  std::string function;
  Attributes options;
  std::vector<int> inputs, outputs;        // places in Trace::values
  std::string link;                        // path of the link that applied it
  size_t number = 0;                       // among all calls
  std::optional<std::string> op = {};      // onnx::function's
  std::vector<Attributes> elsewhere = {};  // its options in the traces of other sizes
  std::set<std::string> changing = {};     // options that are others there

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
/// The axes along which an array repeats itself, with size 1.
Array without_repeats(Array array);
/// Whether two arrays are alike in shape, dtype and elements, to the bit.
bool same_elements(const Array& a, const Array& b);

struct Trace {
  std::vector<Value> values;
  std::vector<Call> calls, constant_calls;  // the latter depend on no argument
  std::vector<int> arguments, results;
  std::map<ArrayKey, int> by_key;
  /// Storages of what depends on an argument, and what wrote there: "F::relu", or "an operation on arrays".
  std::unordered_map<uint64_t, std::string> dependent;
  DynamicSizes dynamic;

  /// The value with these elements, or kAbsent.
  int find(const Array& array) const;
  /// Whether a value has elements in that storage.
  bool knows(uint64_t storage) const;
};

/// Calls the model.
Trace trace(const detail::ModelCall& call, Link* link, std::span<const Variable> inputs, bool train);
/// The same with the sizes that the options name made dynamic: the model is called with several of each.
Trace trace(const detail::ModelCall& call, Link* link, std::span<const Variable> inputs, const ExportOptions& options);

}  // namespace kusari::onnx::exporting
