#include "kusari/framework/core/number_text.h"

#include <charconv>
#include <cmath>

namespace kusari {
namespace {

std::string text_of(double value, std::chars_format format, int digits) {
  if (std::isnan(value)) return "nan";  // printf shows its sign
  char text[400];                       // 309 digits before the point, and those after it
  return {text, std::to_chars(text, text + sizeof text, value, format, digits).ptr};
}

}  // namespace

std::string general_text(double value, int digits) { return text_of(value, std::chars_format::general, digits); }

std::string fixed_text(double value, int digits) { return text_of(value, std::chars_format::fixed, digits); }

std::string grouped_text(int64_t number) {
  std::string digits = std::to_string(number);
  for (size_t i = digits.size(); i > (number < 0 ? 4U : 3U); i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

}  // namespace kusari
