#include "kusari/framework/autograd/function_range.h"

namespace kusari::autograd {
namespace {

void append(std::string& text, const Array& array) {
  text += text.back() == ' ' ? "" : ", ";
  text += array.is_defined() ? std::string(name(array.dtype())) + ' ' + to_string(array.shape()) : "none";
}

}  // namespace

std::string range_text(const FunctionNode& function, const char* direction, const ArrayRefs& arrays) {
  std::string text = std::string(function.name()) + ' ' + direction + ' ';
  for (size_t i = 0; i < arrays.size(); ++i) append(text, arrays[i]);
  return text;
}

std::string range_text(const FunctionNode& function, const char* direction, const Variables& arrays) {
  std::string text = std::string(function.name()) + ' ' + direction + ' ';
  for (const Variable& variable : arrays) append(text, variable.is_defined() ? variable.array() : Array());
  return text;
}

}  // namespace kusari::autograd
