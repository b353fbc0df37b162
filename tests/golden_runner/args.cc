#include "kusari/tests/golden_runner/args.h"

#include <algorithm>
#include <cctype>

namespace kusari::golden {

bool is_array_name(const Json& value) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return text.size() > 1 && text[0] == 'x' &&
         std::all_of(text.begin() + 1, text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

Dtype dtype_of(const Json& name) {
  if (!name.is_string()) throw std::runtime_error("a dtype is given by name, not by " + name.dump());
  return dtype_from_name(name.get<std::string>());
}

Args::Args(const Signature& signature, const Json& args, const Json& attrs, const Inputs& inputs)
    : signature_{&signature}, inputs_{&inputs} {
  std::vector<Json> positional;
  for (const Json* part : {&args, &attrs}) {
    if (const auto star = part->find("*"); star != part->end()) positional = star->get<std::vector<Json>>();
  }
  size_t taken = 0;
  for (const Signature::Parameter& parameter : signature.parameters) {
    if (taken == positional.size() || parameter.is_keyword) break;
    bind(parameter.name, positional[taken++]);
  }
  more_.assign(positional.begin() + static_cast<std::ptrdiff_t>(taken), positional.end());
  if (!more_.empty() && !signature.takes_more) {
    throw std::runtime_error(signature.name + " takes " + std::to_string(taken) + " arguments by position, not " +
                             std::to_string(positional.size()));
  }
  for (const Json* part : {&args, &attrs}) {
    for (const auto& [name, value] : part->items()) {
      if (name != "*") bind(name, value);
    }
  }
  for (const Signature::Parameter& parameter : signature.parameters) {
    if (values_.contains(parameter.name)) continue;
    if (parameter.is_required)
      throw std::runtime_error(signature.name + ": argument " + parameter.name + " is missing");
    values_[parameter.name] = parameter.default_value;
  }
}

void Args::bind(const std::string& name, const Json& value) {
  const bool is_parameter = signature_->find(name) != nullptr;
  if (!is_parameter && !signature_->takes_keywords) {
    throw std::runtime_error(signature_->name + " has no argument " + name + " (given as " + value.dump() + ")");
  }
  const bool is_new = is_parameter ? values_.emplace(name, value).second : !keywords_.contains(name);
  if (!is_new) {
    throw std::runtime_error(signature_->name + ": argument " + name + " is given twice");
  }
  if (!is_parameter) keywords_[name] = value;
}

void Args::fail(const std::string& name, const std::string& what) const {
  const auto value = values_.find(name);
  throw std::runtime_error(signature_->name + ": argument " + name + "=" +
                           (value == values_.end() ? "?" : value->second.dump()) + " " + what);
}

const Json& Args::raw(const std::string& name) {
  const auto found = values_.find(name);
  if (found == values_.end()) throw std::logic_error("the runner asks for " + signature_->name + "'s " + name);
  used_.insert(name);
  return found->second;
}

void Args::refuse(const std::string& name) {
  if (raw(name) != signature_->find(name)->default_value) fail(name, "has nothing here that it stands for");
}

Variable Args::decode(const Json& value) const {
  if (value.is_null()) return Variable();
  if (!is_array_name(value)) {
    throw std::runtime_error(signature_->name + ": the runner expects an array's name, not " + value.dump());
  }
  const auto found = inputs_->find(value.get<std::string>());
  if (found == inputs_->end()) throw std::runtime_error("the case has no array " + value.dump());
  return found->second;
}

Variable Args::first() { return var(signature_->parameters.at(0).name); }

std::vector<Variable> Args::vars(const std::string& name) {
  const Json& list = raw(name);
  if (!list.is_array()) fail(name, "is no list of arrays");
  std::vector<Variable> all;
  for (const Json& value : list) all.push_back(decode(value));
  return all;
}

const std::vector<Json>& Args::more() {
  more_are_used_ = true;
  return more_;
}

std::vector<Variable> Args::more_vars() {
  std::vector<Variable> all;
  for (const Json& value : more()) all.push_back(decode(value));
  return all;
}

const Json& Args::keyword(const std::string& name) {
  static const Json absent;
  used_.insert(name);
  const auto found = keywords_.find(name);
  return found == keywords_.end() ? absent : *found;
}

const Json& Args::keywords() {
  for (const auto& [name, value] : keywords_.items()) used_.insert(name);
  return keywords_;
}

const Json& Args::given(const std::string& name, const char* kind) {
  const Json& value = raw(name);
  if (value.is_null()) fail(name, std::string("is not ") + kind);
  return value;
}

double Args::number(const std::string& name) {
  const Json& value = given(name, "a number");
  if (!value.is_number()) fail(name, "is not a number");
  return value.get<double>();
}

int64_t Args::integer(const std::string& name) {
  const Json& value = given(name, "an integer");
  if (!value.is_number_integer()) fail(name, "is not an integer");
  return value.get<int64_t>();
}

bool Args::flag(const std::string& name) {
  const Json& value = given(name, "true or false");
  if (value == 0 || value == 1) return value == 1;
  if (!value.is_boolean()) fail(name, "is not true or false");
  return value.get<bool>();
}

std::string Args::text(const std::string& name) {
  const Json& value = given(name, "text");
  if (!value.is_string()) fail(name, "is not text");
  return value.get<std::string>();
}

std::vector<int64_t> Args::integers(const std::string& name) {
  const Json& value = given(name, "an integer or a list of them");
  if (value.is_number_integer()) return {value.get<int64_t>()};
  std::vector<int64_t> all;
  if (!value.is_array()) fail(name, "is not an integer or a list of them");
  for (const Json& one : value) {
    if (!one.is_number_integer()) fail(name, "is not an integer or a list of them");
    all.push_back(one.get<int64_t>());
  }
  return all;
}

std::vector<double> Args::numbers(const std::string& name) {
  const Json& value = given(name, "a number or a list of them");
  if (value.is_number()) return {value.get<double>()};
  std::vector<double> all;
  if (!value.is_array()) fail(name, "is not a number or a list of them");
  for (const Json& one : value) {
    if (!one.is_number()) fail(name, "is not a number or a list of them");
    all.push_back(one.get<double>());
  }
  return all;
}

Shape Args::shape(const std::string& name) {
  const std::vector<int64_t> values = integers(name);
  return Shape(values.begin(), values.end());
}

std::optional<double> Args::optional_number(const std::string& name) {
  return raw(name).is_null() ? std::nullopt : std::optional(number(name));
}
std::optional<int64_t> Args::optional_integer(const std::string& name) {
  return raw(name).is_null() ? std::nullopt : std::optional(integer(name));
}
std::optional<Shape> Args::optional_shape(const std::string& name) {
  return raw(name).is_null() ? std::nullopt : std::optional(shape(name));
}
std::optional<Dtype> Args::optional_dtype(const std::string& name) {
  return raw(name).is_null() ? std::nullopt : std::optional(dtype_of(raw(name)));
}

void Args::check_all_used() const {
  const auto unread = [&](const std::string& name, const Json& value) {
    if (!used_.contains(name)) {
      throw std::runtime_error(signature_->name + ": argument " + name + "=" + value.dump() + " was not passed on");
    }
  };
  for (const auto& [name, value] : values_) unread(name, value);
  for (const auto& [name, value] : keywords_.items()) unread(name, value);
  if (!more_.empty() && !more_are_used_) unread("*", more_);
}

}  // namespace kusari::golden
