#include "kusari/tools/inspect/difference.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace inspect {
namespace {

using kusari::serializers::Entry;

std::string with_dots(std::string key) {
  std::replace(key.begin(), key.end(), '/', '.');
  return key;
}

void compare_arrays(const Item& a, const Entry& in_a, const Entry& in_b, const Tolerance& tolerance,
                    std::vector<Difference>& result) {
  const std::vector<double> x = in_a.array.to_vector<double>(), y = in_b.array.to_vector<double>();
  double largest = 0;
  int64_t different = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    const double distance = std::abs(x[i] - y[i]);
    if (distance <= tolerance.absolute + tolerance.relative * std::abs(y[i])) continue;
    ++different;
    largest = std::isnan(distance) ? distance : std::max(largest, distance);
  }
  if (different == 0) return;
  result.push_back({a.key, std::to_string(different) + " of " + std::to_string(x.size()) + " values differ", largest});
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
  if (x.array.is_defined() && y.array.is_defined()) compare_arrays(a, x, y, tolerance, result);
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
