#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/device.h"

namespace kusari::onnx {

/// What flows between the nodes of a model: a variable on the model's device, or numbers that are known on the host,
/// because they follow from constants and shapes alone, or both (a constant), or a list of such values. None: an input
/// that is left out.
struct Value {
  Value() = default;
  Value(const Variable& on_device) : variable{on_device} {}
  /// `numbers`: on the CPU.
  static Value on_host(const Array& numbers) {
    Value value;
    value.host = numbers;
    return value;
  }

  static Value list(std::vector<Value> elements) {
    Value value;
    value.sequence = std::make_shared<const std::vector<Value>>(std::move(elements));
    return value;
  }

  bool is_given() const { return variable.is_defined() || host.is_defined() || sequence != nullptr; }
  bool is_on_host() const { return host.is_defined(); }
  const Shape& shape() const { return host.is_defined() ? host.shape() : variable.shape(); }
  Dtype dtype() const { return host.is_defined() ? host.dtype() : variable.dtype(); }

  Variable variable;
  Array host;
  std::shared_ptr<const std::vector<Value>> sequence;  ///< instead: a list of values
};
using Values = std::vector<Value>;

/// The inputs of one evaluation of a node. A name of an argument is what errors call it.
class Call {
 public:
  /// `host_only`: all is computed on the CPU and becomes host values.
  Call(std::span<const Value> inputs, const Device& device, bool host_only)
      : inputs_{inputs}, device_{device}, host_only_{host_only} {}

  size_t size() const noexcept { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i].is_given(); }
  /// Input i where the node is computed; undefined if it is left out.
  Variable operator[](size_t i) const;
  /// All inputs from `first` on.
  Variables from(size_t first) const;
  /// The elements of input i. Throws TypeError when it is no list.
  const std::vector<Value>& list(size_t i) const;
  /// Input i as it came; an empty one if it is left out.
  const Value& value(size_t i) const;
  /// Of an input that must be there: otherwise these throw TypeError.
  const Shape& shape(size_t i) const { return known(i).shape(); }
  Dtype dtype(size_t i) const { return known(i).dtype(); }
  int ndim(size_t i) const { return shape(i).ndim(); }

  /// Numbers of input i, read on the host: at once where they are known there, else from the device, which a static
  /// graph refuses.
  std::vector<int64_t> integers(size_t i) const;
  std::vector<double> reals(size_t i) const;
  /// Throw ValueError when there is not exactly one number.
  int64_t integer(size_t i, const char* name) const;
  double real(size_t i, const char* name) const;

  /// A value of this call that another one, within it, gets as an input.
  Value inner(const Variable& x) const { return host_only_ && x.is_defined() ? Value::on_host(x.array()) : Value(x); }
  /// Another one within it, computed where this one is.
  Call with(std::span<const Value> inputs) const { return Call(inputs, device_, host_only_); }

  /// Where the node is computed.
  const Device& device() const noexcept { return device_; }
  bool is_host_only() const noexcept { return host_only_; }

 private:
  template <class Read>
  auto read(size_t i, Read read_array) const;
  const Value& known(size_t i) const;

  std::span<const Value> inputs_;
  Device device_;
  bool host_only_;
};

}  // namespace kusari::onnx
