#include "kusari/framework/onnx/operators/value.h"

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"

namespace kusari::onnx {

namespace {

template <class T>
T only(const Array& numbers, const char* name) {
  if (numbers.size() != 1) {
    throw ValueError(std::string(name) + " has shape " + kusari::to_string(numbers.shape()) +
                     ": it must be one number");
  }
  return numbers.item<T>();
}

}  // namespace

Variable Call::operator[](size_t i) const {
  if (!has(i)) return Variable();
  const Value& value = inputs_[i];
  if (value.sequence != nullptr) throw TypeError("input " + std::to_string(i) + " is a list: it must be an array");
  if (host_only_ || !value.variable.is_defined()) {
    if (host_only_ || value.host.device() == device_) return Variable(value.host, false);
    return Variable(host_constant([&] { return value.host.to_device(device_); }), false);
  }
  return value.variable;
}

Variables Call::from(size_t first) const {
  Variables result;
  for (size_t i = first; i < inputs_.size(); ++i) result.push_back((*this)[i]);
  return result;
}

const std::vector<Value>& Call::list(size_t i) const {
  if (!has(i) || inputs_[i].sequence == nullptr)
    throw TypeError("input " + std::to_string(i) + " must be a list (a sequence)");
  return *inputs_[i].sequence;
}

Array Call::numbers(size_t i) const {
  const Value& value = inputs_[i];
  return value.is_on_host() ? value.host : value.variable.array();
}

int64_t Call::integer(size_t i, const char* name) const { return only<int64_t>(numbers(i), name); }
double Call::real(size_t i, const char* name) const { return only<double>(numbers(i), name); }

}  // namespace kusari::onnx
