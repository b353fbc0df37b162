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

const Value& Call::value(size_t i) const {
  static const Value none;
  return i < inputs_.size() ? inputs_[i] : none;
}

const Value& Call::known(size_t i) const {
  if (!has(i) || inputs_[i].sequence != nullptr)
    throw TypeError("input " + std::to_string(i) + (has(i) ? " is a list: it must be an array" : " is missing"));
  return inputs_[i];
}

template <class Read>
auto Call::read(size_t i, Read read_array) const {
  const Value& value = known(i);
  if (!value.is_on_host()) return read_array(value.variable.array());
  const ScopedGraphCapture unseen(nullptr);  // a constant of the shapes at hand
  return read_array(value.host);
}

std::vector<int64_t> Call::integers(size_t i) const {
  return read(i, [](const Array& x) { return x.to_vector<int64_t>(); });
}
std::vector<double> Call::reals(size_t i) const {
  return read(i, [](const Array& x) { return x.to_vector<double>(); });
}
int64_t Call::integer(size_t i, const char* name) const {
  return read(i, [name](const Array& x) { return only<int64_t>(x, name); });
}
double Call::real(size_t i, const char* name) const {
  return read(i, [name](const Array& x) { return only<double>(x, name); });
}

}  // namespace kusari::onnx
