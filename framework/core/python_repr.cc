#include "kusari/framework/core/python_repr.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace kusari {

std::string python_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[400];
  const auto print = [&](std::chars_format format) {
    return std::string(text, std::to_chars(text, text + sizeof text, value, format).ptr);
  };
  const std::string scientific = print(std::chars_format::scientific);
  const int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
  if (exponent < -4 || exponent >= 16) return scientific;
  const std::string fixed = print(std::chars_format::fixed);
  return fixed.find('.') == std::string::npos ? fixed + ".0" : fixed;
}

}  // namespace kusari
