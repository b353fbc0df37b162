#include "kusari/tools/inspect/difference.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace inspect {
namespace {

using namespace kusari;
using serializers::Entry;

std::string with_dots(std::string key) {
  std::replace(key.begin(), key.end(), '/', '.');
  return key;
}

/// |a - b|; of equal numbers 0, also of those that are infinite or no numbers.
double distance(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)) ? 0 : std::abs(a - b); }
/// Doubles do not hold all of them.
double distance(int64_t a, int64_t b) {
  const auto difference = static_cast<uint64_t>(std::max(a, b)) - static_cast<uint64_t>(std::min(a, b));
  return static_cast<double>(difference);
}

template <class T>
void compare_values(const Item& a, const std::vector<T>& x, const std::vector<T>& y, const Tolerance& tolerance,
                    std::vector<Difference>& result) {
  double largest = 0;
  int64_t different = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double d = distance(x[i], y[i]);
    const double allowed = tolerance.absolute + tolerance.relative * std::abs(static_cast<double>(y[i]));
    if (d == 0 || (std::isfinite(d) && d <= allowed)) continue;
    ++different;
    largest = std::isnan(d) ? d : std::max(largest, d);
  }
  if (different == 0) return;
  result.push_back({a.key, std::to_string(different) + " of " + std::to_string(x.size()) + " values differ", largest});
}

void compare_arrays(const Item& a, const Array& x, const Array& y, const Tolerance& tolerance,
                    std::vector<Difference>& result) {
  if (is_floating(x.dtype()) || is_floating(y.dtype())) {
    compare_values(a, x.to_vector<double>(), y.to_vector<double>(), tolerance, result);
  } else {
    compare_values(a, x.to_vector<int64_t>(), y.to_vector<int64_t>(), tolerance, result);
  }
}

void compare(const Contents& in_a, const Item& a, const Contents& in_b, const Item& b, const Tolerance& tolerance,
             std::vector<Difference>& result) {
  if (a.dtype != b.dtype) {
    result.push_back({a.key, "dtype " + a.dtype + " and " + b.dtype, {}});
  }
  if (a.shape != b.shape) {
    result.push_back({a.key, "shape " + shape_text(a.shape) + " and " + shape_text(b.shape), {}});
    return;
  }
  if (!a.is_readable || !b.is_readable) {
    result.push_back({a.key, "values of dtype " + a.dtype + " cannot be compared", {}});
    return;
  }
  const Entry x = in_a.file->value(a.key), y = in_b.file->value(b.key);
  if (x.is_text && y.is_text && x.text != y.text) result.push_back({a.key, "the texts differ", {}});
  if (x.array.is_defined() && y.array.is_defined()) compare_arrays(a, x.array, y.array, tolerance, result);
}

}  // namespace

std::vector<Difference> differences(const Contents& a, const Contents& b, const Tolerance& tolerance) {
  std::map<std::string, const Item*> in_b;
  std::set<std::string> in_a;
  for (const Item& item : b.items) in_b[with_dots(item.key)] = &item;
  std::vector<Difference> result;
  for (const Item& item : a.items) {
    in_a.insert(with_dots(item.key));
    const auto found = in_b.find(with_dots(item.key));
    if (found == in_b.end()) {
      result.push_back({item.key, "only in the first file", {}});
    } else {
      compare(a, item, b, *found->second, tolerance, result);
    }
  }
  for (const Item& item : b.items) {
    if (in_a.count(with_dots(item.key)) == 0) result.push_back({item.key, "only in the second file", {}});
  }
  return result;
}

}  // namespace inspect
