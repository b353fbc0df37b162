#include "kusari/tests/golden_runner/args.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace kusari::golden {

bool is_array_name(const Json& value) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return text.size() > 1 && text[0] == 'x' &&
         std::all_of(text.begin() + 1, text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

Args::Args(const Json& args, const Json& attrs, const Inputs& inputs) : inputs_{&inputs} {
  for (const Json* part : {&args, &attrs}) {
    for (const auto& [name, value] : part->items()) {
      if (name == "*") {
        positional_ = value.get<std::vector<Json>>();
      } else {
        named_[name] = value;
      }
    }
  }
}

bool Args::has(const std::string& name) const { return named_.contains(name); }

const Json* Args::find(const std::string& name) const {
  const auto found = named_.find(name);
  return found == named_.end() || found->second.is_null() ? nullptr : &found->second;
}

const Json& Args::raw(const std::string& name) {
  static const Json absent;
  used_.insert(name);
  const Json* value = find(name);
  return value == nullptr ? absent : *value;
}

Variable Args::decode(const Json& value) const {
  if (value.is_null()) return Variable();
  if (!is_array_name(value)) throw std::runtime_error("the runner expects an array's name, not " + value.dump());
  return inputs_->at(value.get<std::string>());
}

Variable Args::var(const std::string& name) { return decode(raw(name)); }

Variable Args::only() {
  std::string found;
  for (const auto& [name, value] : named_) {
    if (is_array_name(value)) found = found.empty() ? name : throw std::runtime_error("several arrays");
  }
  if (!found.empty()) return var(found);
  if (positional_.size() != 1) throw std::runtime_error("the runner expects one array argument");
  return positional_var(0);
}

std::vector<Variable> Args::vars(const std::string& name) {
  std::vector<Variable> all;
  for (const Json& value : raw(name)) all.push_back(decode(value));
  return all;
}

std::vector<std::vector<Variable>> Args::nested_vars(const std::string& name) {
  std::vector<std::vector<Variable>> all;
  for (const Json& row : raw(name)) {
    all.emplace_back();
    for (const Json& value : row) all.back().push_back(decode(value));
  }
  return all;
}

size_t Args::positional_count() const { return positional_.size(); }

const Json& Args::positional(size_t i) {
  used_positions_.insert(i);
  return positional_.at(i);
}

Variable Args::positional_var(size_t i) { return decode(positional(i)); }

std::vector<Variable> Args::positional_vars() {
  std::vector<Variable> all;
  for (size_t i = 0; i < positional_.size(); ++i) all.push_back(positional_var(i));
  return all;
}

double Args::number(const std::string& name, double otherwise) { return optional_number(name).value_or(otherwise); }
int64_t Args::integer(const std::string& name, int64_t otherwise) { return optional_integer(name).value_or(otherwise); }

std::optional<double> Args::optional_number(const std::string& name) {
  const Json& value = raw(name);
  return value.is_null() ? std::nullopt : std::optional<double>(value.get<double>());
}

std::optional<int64_t> Args::optional_integer(const std::string& name) {
  const Json& value = raw(name);
  if (value.is_null()) return std::nullopt;
  if (!value.is_number_integer()) throw std::runtime_error("argument " + name + " is no integer: " + value.dump());
  return value.get<int64_t>();
}

bool Args::flag(const std::string& name, bool otherwise) {
  const Json& value = raw(name);
  return value.is_null() ? otherwise : value.get<bool>();
}

std::string Args::text(const std::string& name, const std::string& otherwise) {
  const Json& value = raw(name);
  return value.is_null() ? otherwise : value.get<std::string>();
}

std::vector<int64_t> Args::integers(const std::string& name) {
  const Json& value = raw(name);
  if (value.is_null()) return {};
  if (value.is_number()) return {value.get<int64_t>()};
  return value.get<std::vector<int64_t>>();
}

std::vector<double> Args::numbers(const std::string& name) {
  const Json& value = raw(name);
  if (value.is_null()) return {};
  if (value.is_number()) return {value.get<double>()};
  return value.get<std::vector<double>>();
}

void Args::check_all_used() const {
  for (const auto& [name, value] : named_) {
    if (!used_.contains(name)) throw std::runtime_error("argument " + name + "=" + value.dump() + " was not passed on");
  }
  for (size_t i = 0; i < positional_.size(); ++i) {
    if (!used_positions_.contains(i)) {
      throw std::runtime_error("positional argument " + std::to_string(i) + " was not passed on");
    }
  }
}

}  // namespace kusari::golden
