#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

#include "kusari/framework/core/array.h"

// NumPy's str(array) with its default print options. Source: numpy/core/arrayprint.py and scalartypes.c.src, 1.24.

namespace kusari {
namespace {

constexpr int64_t kThreshold = 1000;  // more elements than this are abbreviated
constexpr int64_t kEdgeItems = 3;
constexpr size_t kLineWidth = 75;
constexpr int kPrecision = 8;  // most fractional digits

/// A finite number as 0.d1d2d3... * 10^point.
struct Decimal {
  bool negative = false;
  std::string digits;  // without trailing zeros; empty for zero
  int point = 0;

  int fraction_digits() const { return std::max(0, static_cast<int>(digits.size()) - point); }
};

Decimal parse_scientific(const char* begin, const char* end) {
  Decimal decimal;
  if (*begin == '-') {
    decimal.negative = true;
    ++begin;
  }
  for (; begin != end && *begin != 'e'; ++begin) {
    if (*begin != '.') decimal.digits += *begin;
  }
  decimal.point = std::atoi(std::string(begin + 1, end).c_str()) + 1;
  while (!decimal.digits.empty() && decimal.digits.back() == '0') decimal.digits.pop_back();
  if (decimal.digits.empty()) decimal.point = 1;
  return decimal;
}

Decimal round_to_digits(double value, int digits) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), value, std::chars_format::scientific, digits - 1);
  return parse_scientific(text, end.ptr);
}

double to_double(const Decimal& decimal) {
  const std::string text = (decimal.negative ? "-0." : "0.") + decimal.digits + "e" + std::to_string(decimal.point);
  return std::strtod(text.c_str(), nullptr);
}

// The number one unit of its last of `digits` digits further from zero (step 1) or nearer to it (-1).
Decimal neighbour(Decimal decimal, int digits, int step) {
  decimal.digits.resize(static_cast<size_t>(digits), '0');
  decimal.digits = std::to_string(std::atoll(decimal.digits.c_str()) + step);
  decimal.point += static_cast<int>(decimal.digits.size()) - digits;
  while (!decimal.digits.empty() && decimal.digits.back() == '0') decimal.digits.pop_back();
  return decimal;
}

// The fewest digits that only this element of its type rounds from.
template <class T>
Decimal shortest(T value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), value, std::chars_format::scientific);
  return parse_scientific(text, end.ptr);
}
template <class Half>
Decimal shortest_half(Half value) {
  const double exact = static_cast<float>(value);
  for (int digits = 1;; ++digits) {
    const Decimal nearest = round_to_digits(exact, digits);
    // Below a power of two the elements lie closer: the nearest decimal may belong to the lower neighbour, while the
    // next decimal still belongs here.
    for (int step : {0, 1, -1}) {
      const Decimal candidate = step == 0 ? nearest : neighbour(nearest, digits, step);
      if (Half(static_cast<float>(to_double(candidate))).bits == value.bits) return candidate;
    }
  }
}
template <>
Decimal shortest(float16 value) {
  return shortest_half(value);
}
template <>
Decimal shortest(bfloat16 value) {
  return shortest_half(value);
}

template <class T>
double widen(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else {
    return static_cast<double>(static_cast<float>(value));
  }
}

// The value rounded to `fraction` digits after the point when its shortest form has more of them. A whole number shows
// all its digits (float16: 4328, although 4330 would do).
template <class T>
Decimal round_positional(T value, int fraction) {
  const Decimal decimal = shortest(value);
  const int digits = static_cast<int>(decimal.digits.size());
  if (decimal.point > digits) fraction = 0;
  if (decimal.point <= digits && decimal.fraction_digits() <= fraction) return decimal;
  char text[400];
  const auto end = std::to_chars(text, text + sizeof(text), widen(value), std::chars_format::fixed, fraction);
  Decimal rounded;
  rounded.negative = decimal.negative;
  const std::string all(text + (decimal.negative ? 1 : 0), end.ptr);
  const size_t dot = std::min(all.find('.'), all.size());
  rounded.digits = all.substr(0, dot) + (dot < all.size() ? all.substr(dot + 1) : std::string());
  rounded.point = static_cast<int>(dot);
  while (!rounded.digits.empty() && rounded.digits.back() == '0') rounded.digits.pop_back();
  while (!rounded.digits.empty() && rounded.digits.front() == '0') {
    rounded.digits.erase(0, 1);
    --rounded.point;
  }
  return rounded;
}

template <class T>
Decimal round_scientific(T value, int fraction) {
  const Decimal decimal = shortest(value);
  return static_cast<int>(decimal.digits.size()) <= fraction + 1 ? decimal
                                                                 : round_to_digits(widen(value), fraction + 1);
}

std::string integer_part(const Decimal& decimal) {
  std::string text;
  for (int i = 0; i < decimal.point; ++i) {
    text += i < static_cast<int>(decimal.digits.size()) ? decimal.digits[static_cast<size_t>(i)] : '0';
  }
  if (text.empty() || decimal.digits.empty()) text = "0";
  return (decimal.negative ? "-" : "") + text;
}

std::string fraction_part(const Decimal& decimal) {
  std::string text;
  for (int i = decimal.point; i < static_cast<int>(decimal.digits.size()); ++i) {
    text += i < 0 ? '0' : decimal.digits[static_cast<size_t>(i)];
  }
  return text;
}

std::string exponent_part(const Decimal& decimal) {
  const int exponent = decimal.digits.empty() ? 0 : decimal.point - 1;
  const std::string digits = std::to_string(std::abs(exponent));
  return digits.size() < 2 ? "0" + digits : digits;
}

char exponent_sign(const Decimal& decimal) { return !decimal.digits.empty() && decimal.point < 1 ? '-' : '+'; }

std::string significand_integer(const Decimal& decimal) {
  return std::string(decimal.negative ? "-" : "") + (decimal.digits.empty() ? '0' : decimal.digits[0]);
}

std::string significand_fraction(const Decimal& decimal) {
  return decimal.digits.size() > 1 ? decimal.digits.substr(1) : std::string();
}

std::string pad_left(const std::string& text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

std::string non_finite(double value) { return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf"; }

/// A number alone: numpy.float32.__str__.
template <class T>
std::string scalar_text(T value) {
  const double wide = widen(value);
  if (!std::isfinite(wide)) return non_finite(wide);
  const Decimal decimal = shortest(value);
  const double magnitude = std::abs(wide);
  if (magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16)) {
    const std::string fraction = fraction_part(decimal);
    return integer_part(decimal) + "." + (fraction.empty() ? "0" : fraction);
  }
  const std::string fraction = significand_fraction(decimal);
  return significand_integer(decimal) + (fraction.empty() ? "" : "." + fraction) + "e" + exponent_sign(decimal) +
         exponent_part(decimal);
}

bool wants_exponent(double smallest, double largest, Dtype dtype) {
  if (largest >= 1e8 || smallest < 0.0001) return true;
  double ratio = largest / smallest;  // rounded as the division of two elements is
  if (dtype == Dtype::float32) ratio = static_cast<float>(ratio);
  if (dtype == Dtype::float16) ratio = static_cast<float>(float16(static_cast<float>(ratio)));
  if (dtype == Dtype::bfloat16) ratio = static_cast<float>(bfloat16(static_cast<float>(ratio)));
  return ratio > 1000;
}

/// The elements in columns of equal width: numpy's FloatingFormat.
template <class T>
std::vector<std::string> format_floats(const std::vector<T>& values) {
  double smallest = INFINITY, largest = 0;
  bool any_finite = false, any_other = false, any_negative_infinity = false;
  for (T v : values) {
    const double magnitude = std::abs(widen(v));
    if (!std::isfinite(magnitude)) {
      any_other = true;
      any_negative_infinity = any_negative_infinity || widen(v) < 0;
      continue;
    }
    any_finite = true;
    if (magnitude == 0) continue;
    smallest = std::min(smallest, magnitude);
    largest = std::max(largest, magnitude);
  }
  const bool exponential = largest > 0 && wants_exponent(smallest, largest, dtype_of<T>);

  std::vector<Decimal> decimals(values.size());
  size_t left = 0, right = 0, exponent_width = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(widen(values[i]))) continue;
    Decimal& d = decimals[i];
    d = exponential ? round_scientific(values[i], kPrecision) : round_positional(values[i], kPrecision);
    left = std::max(left, (exponential ? significand_integer(d) : integer_part(d)).size());
    right = std::max(right, (exponential ? significand_fraction(d) : fraction_part(d)).size());
    if (exponential) exponent_width = std::max(exponent_width, exponent_part(d).size());
  }
  if (exponential) {  // padding to the common length shows the value's own digits, not zeros
    for (size_t i = 0; i < values.size(); ++i) {
      if (decimals[i].digits.size() <= right && std::isfinite(widen(values[i]))) {
        decimals[i] = round_to_digits(widen(values[i]), static_cast<int>(right) + 1);
      }
    }
  }
  const size_t tail = exponential ? right + exponent_width + 2 : right;
  if (any_other) {
    const size_t longest = any_negative_infinity ? 4 : 3;
    if (longest > tail + 1) left = std::max(left, longest - tail - 1);
  }
  if (!any_finite) left = std::max<size_t>(left, any_negative_infinity ? 3 : 2);

  std::vector<std::string> words;
  for (size_t i = 0; i < values.size(); ++i) {
    const Decimal& d = decimals[i];
    const double wide = widen(values[i]);
    if (!std::isfinite(wide)) {
      words.push_back(pad_left(non_finite(wide), left + tail + 1));
    } else if (exponential) {
      std::string fraction = significand_fraction(d);
      fraction.resize(right, '0');
      const std::string exponent = exponent_part(d);
      words.push_back(pad_left(significand_integer(d), left) + "." + fraction + "e" + exponent_sign(d) +
                      std::string(exponent_width - exponent.size(), '0') + exponent);
    } else {
      std::string fraction = fraction_part(d);
      fraction.resize(right, ' ');
      words.push_back(pad_left(integer_part(d), left) + "." + fraction);
    }
  }
  return words;
}

/// Reads the elements that are shown, in C order.
template <class T>
void gather(const Array& array, bool abbreviated, std::vector<T>& values) {
  const auto read_all = [&](const Array& part) {
    const std::vector<T> read = part.to_vector<T>();
    values.insert(values.end(), read.begin(), read.end());
  };
  if (!abbreviated) return read_all(array);
  const int64_t n = array.shape()[0];
  const bool cut = n > 2 * kEdgeItems;
  if (array.ndim() == 1) {
    if (!cut) return read_all(array);
    read_all(array.slice(0, 0, kEdgeItems));
    read_all(array.slice(0, n - kEdgeItems, kEdgeItems));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    if (cut && i == kEdgeItems) i = n - kEdgeItems;
    gather(array.at(i), true, values);
  }
}

template <class T>
std::vector<std::string> format_elements(const Array& array, bool abbreviated) {
  std::vector<T> values;
  gather(array, abbreviated, values);
  if constexpr (std::is_same_v<T, bool>) {
    std::vector<std::string> words;
    for (const bool v : values) words.push_back(v ? array.ndim() == 0 ? "True" : " True" : "False");
    return words;
  } else if constexpr (std::is_integral_v<T>) {
    std::vector<std::string> words;
    size_t width = 0;
    for (T v : values) {
      words.push_back(std::to_string(v));
      width = std::max(width, words.back().size());
    }
    for (std::string& word : words) word = pad_left(word, width);
    return words;
  } else {
    return format_floats(values);
  }
}

/// Brackets, line breaks and "..." around the words: numpy's _formatArray.
class Layout {
 public:
  Layout(const Shape& shape, bool abbreviated, const std::vector<std::string>& words)
      : shape_{shape}, abbreviated_{abbreviated}, word_{words.begin()} {}

  // `prefix`: characters before the first bracket.
  std::string run(size_t prefix) { return nested(0, std::string(prefix + 1, ' '), kLineWidth); }

 private:
  std::string nested(int axis, const std::string& indent, size_t width) {
    const int axes_left = shape_.ndim() - axis;
    const int64_t n = shape_[axis];
    const bool cut = abbreviated_ && n > 2 * kEdgeItems;
    std::string text;
    if (axes_left == 1) {
      std::string line = indent;
      for (int64_t i = 0; i < n; ++i) {
        if (cut && i == kEdgeItems) {
          extend(text, line, "...", indent, width - 1);
          line += ' ';
          i = n - kEdgeItems;
        }
        extend(text, line, *word_++, indent, width - 1);
        if (i + 1 < n) line += ' ';
      }
      text += line;
    } else {
      const std::string separator(static_cast<size_t>(axes_left - 1), '\n');
      for (int64_t i = 0; i < n; ++i) {
        if (cut && i == kEdgeItems) {
          text += indent + "..." + separator;
          i = n - kEdgeItems;
        }
        text += indent + nested(axis + 1, indent + " ", width - 1);
        if (i + 1 < n) text += separator;
      }
    }
    return "[" + text.substr(indent.size()) + "]";
  }

  static void extend(std::string& text, std::string& line, const std::string& word, const std::string& indent,
                     size_t width) {
    if (line.size() + word.size() > width && line.size() > indent.size()) {
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line = indent;
    }
    line += word;
  }

  const Shape& shape_;
  bool abbreviated_;
  std::vector<std::string>::const_iterator word_;
};

}  // namespace

std::string array2string(const Array& array, const std::string& prefix) {
  if (!array.is_defined()) return "undefined";
  if (array.size() == 0) return "[]";
  const bool abbreviated = array.size() > kThreshold;
  const std::vector<std::string> words =
      visit_dtype(array.dtype(), [&]<class T>() { return format_elements<T>(array, abbreviated); });
  return array.ndim() == 0 ? words[0] : Layout(array.shape(), abbreviated, words).run(prefix.size());
}

std::string to_string(const Array& array) {
  if (array.is_defined() && array.ndim() == 0) {
    return visit_dtype(array.dtype(), [&]<class T>() -> std::string {
      const T value = array.item<T>();
      if constexpr (std::is_same_v<T, bool>) {
        return value ? "True" : "False";
      } else if constexpr (std::is_integral_v<T>) {
        return std::to_string(value);
      } else {
        return scalar_text(value);
      }
    });
  }
  return array2string(array, "");
}

std::ostream& operator<<(std::ostream& stream, const Array& array) { return stream << to_string(array); }

}  // namespace kusari
