#include "kusari/framework/kernels/user/parameters.h"

#include <algorithm>
#include <cctype>

#include "kusari/framework/core/error.h"

namespace kusari::cuda::user {
namespace {

bool is_identifier(const std::string& word) {
  const auto is_part = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) == 0 &&
         std::all_of(word.begin(), word.end(), is_part);
}

bool is_type(const std::string& word) {
  if (word.size() == 1) return std::isupper(static_cast<unsigned char>(word[0])) != 0;
  for (int i = 0; i < kDtypeCount; ++i) {
    if (word == name(static_cast<Dtype>(i))) return true;
  }
  return false;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

Parameter parse_parameter(const std::string& call, const std::string& text) {
  std::vector<std::string> words = words_of(text);
  Parameter parameter;
  if (!words.empty() && words[0] == "raw") {
    parameter.is_raw = true;
    words.erase(words.begin());
  }
  if (words.size() != 2 || !is_type(words[0]) || !is_identifier(words[1])) {
    throw ValueError(call + ": parameter '" + text +
                     "' must be [raw] TYPE NAME, TYPE being a dtype's name or one capital letter");
  }
  if (words[1] == "i" || words[1] == "n") {
    throw ValueError(call + ": a parameter cannot be called " + words[1] +
                     ", which is the element's number (i) or how many there are (n)");
  }
  parameter.type = words[0];
  parameter.name = words[1];
  return parameter;
}

}  // namespace

std::vector<Parameter> parse_parameters(const std::string& call, const std::string& text) {
  std::vector<Parameter> parameters;
  if (words_of(text).empty()) return parameters;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    Parameter parameter = parse_parameter(call, text.substr(begin, end - begin));
    for (const Parameter& earlier : parameters) {
      if (earlier.name == parameter.name) throw ValueError(call + ": two parameters are called " + parameter.name);
    }
    parameters.push_back(std::move(parameter));
    begin = end + 1;
  }
  return parameters;
}

void TypeBindings::bind(const std::string& call, const Parameter& parameter, const UserArgument& argument) {
  if (!argument.is_array()) return;
  const Dtype dtype = argument.array().dtype();
  if (!parameter.is_placeholder()) {
    if (dtype_from_name(parameter.type) == dtype) return;
    throw TypeError(call + ": " + parameter.name + " has dtype " + name(dtype) + " but must be " + parameter.type);
  }
  const auto [entry, is_new] = bindings_.try_emplace(parameter.type, Binding{dtype, parameter.name});
  if (!is_new && entry->second.dtype != dtype) {
    throw TypeError(call + ": " + parameter.name + " has dtype " + name(dtype) + " but " + parameter.type + " is " +
                    name(entry->second.dtype) + " because of " + entry->second.from);
  }
}

void TypeBindings::bind_numbers(const std::vector<Parameter>& parameters, std::span<const UserArgument> arguments) {
  for (size_t k = 0; k < arguments.size(); ++k) {
    if (arguments[k].is_array() || !parameters[k].is_placeholder()) continue;
    const Dtype dtype = arguments[k].scalar().is_integral() ? Dtype::int64 : Dtype::float64;
    bindings_.try_emplace(parameters[k].type, Binding{dtype, parameters[k].name});
  }
}

Dtype TypeBindings::dtype_of(const std::string& call, const Parameter& parameter) const {
  if (!parameter.is_placeholder()) return dtype_from_name(parameter.type);
  const auto found = bindings_.find(parameter.type);
  if (found == bindings_.end()) {
    throw TypeError(call + ": no argument says which dtype " + parameter.type + " of " + parameter.name + " is");
  }
  return found->second.dtype;
}

std::string TypeBindings::declarations() const {
  std::string text;
  for (const auto& [letter, binding] : bindings_) text += "using " + letter + " = " + name(binding.dtype) + ";\n";
  return text;
}

}  // namespace kusari::cuda::user
