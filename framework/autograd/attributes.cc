#include "kusari/framework/autograd/attributes.h"

#include <algorithm>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"

namespace kusari {
namespace {

template <class T, class Text>
std::string list_text(const std::vector<T>& values, const Text& text) {
  std::string joined = "(";
  for (size_t i = 0; i < values.size(); ++i) joined += (i == 0 ? "" : ", ") + text(values[i]);
  return joined + (values.size() == 1 ? ",)" : ")");
}

struct ValueText {
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return general_text(value); }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(const std::string& value) const { return "'" + value + "'"; }
  std::string operator()(const std::vector<int64_t>& values) const { return list_text(values, *this); }
  std::string operator()(const std::vector<double>& values) const { return list_text(values, *this); }
  std::string operator()(const Array& value) const {
    if (!value.is_defined()) return "None";
    return std::string(name(value.dtype())) + to_string(value.shape());
  }
};

}  // namespace

Attributes::Attributes(std::initializer_list<Entry> entries) {
  for (const Entry& entry : entries) set(entry.name, entry.value);
}

void Attributes::set(std::string_view name, Value value) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.name == name; });
  if (found != entries_.end()) {
    found->value = std::move(value);
  } else {
    entries_.push_back({std::string(name), std::move(value)});
  }
}

void Attributes::set_boolean(std::string_view name, bool value) { set(name, Value(value)); }
void Attributes::set_integer(std::string_view name, int64_t value) { set(name, Value(value)); }
void Attributes::set(std::string_view name, double value) { set(name, Value(value)); }
void Attributes::set(std::string_view name, const char* value) { set(name, Value(std::string(value))); }
void Attributes::set(std::string_view name, const std::string& value) { set(name, Value(value)); }
void Attributes::set(std::string_view name, const Array& value) { set(name, Value(value)); }
void Attributes::set(std::string_view name, Dtype value) { set(name, kusari::name(value)); }

void Attributes::set(std::string_view name, const Dims& value) {
  set(name, Value(std::vector<int64_t>(value.begin(), value.end())));
}

void Attributes::set(std::string_view name, Scalar value) {
  if (value.is_integral()) {
    set_integer(name, value.as_int64());
  } else {
    set(name, value.as_double());
  }
}

void Attributes::set(std::string_view name, AxisMask axes) {
  std::vector<int64_t> list;
  for (int i = 0; i < kMaxNdim; ++i) {
    if (axes.contains(i)) list.push_back(i);
  }
  set(name, Value(std::move(list)));
}

const Attributes::Value* Attributes::find(std::string_view name) const noexcept {
  for (const Entry& entry : entries_) {
    if (entry.name == name) return &entry.value;
  }
  return nullptr;
}

size_t Attributes::size() const noexcept { return entries_.size(); }

template <class T>
const T& Attributes::get(std::string_view name) const {
  const Value* const value = find(name);
  if (value == nullptr) {
    throw KeyError("Attributes: there is no option '" + std::string(name) + "' among " +
                   (entries_.empty() ? "none" : to_string(*this)));
  }
  if (const T* const held = std::get_if<T>(value)) return *held;
  throw TypeError("Attributes: option '" + std::string(name) + "' is " + to_string(*value) + ": it is of another kind");
}

template const int64_t& Attributes::get(std::string_view) const;
template const double& Attributes::get(std::string_view) const;
template const bool& Attributes::get(std::string_view) const;
template const std::string& Attributes::get(std::string_view) const;
template const std::vector<int64_t>& Attributes::get(std::string_view) const;
template const std::vector<double>& Attributes::get(std::string_view) const;
template const Array& Attributes::get(std::string_view) const;

std::string to_string(const Attributes::Value& value) { return std::visit(ValueText{}, value); }

std::string to_string(const Attributes& attributes) {
  std::string text;
  for (const auto& [name, value] : attributes) text += (text.empty() ? "" : ", ") + name + "=" + to_string(value);
  return text;
}

}  // namespace kusari
