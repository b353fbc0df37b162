#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/onnx/export/graph_builder.h"

// Of GraphBuilder, what is computed from sizes that a run may change.
namespace kusari::onnx::exporting {
namespace {

std::vector<Sizes> sizes_of(const Value& v) {
  std::vector<Sizes> all;
  for (int axis = 0; axis < v.array.ndim(); ++axis) all.push_back(v.sizes(axis));
  return all;
}

// The element at the places of an array in C order.
const char* element(const Array& array, size_t i) {
  return static_cast<const char*>(array.raw_data()) + i * itemsize(array.dtype());
}

bool is_uniform(const Array& array, const char* number) {
  for (size_t i = 0; i < static_cast<size_t>(array.size()); ++i) {
    if (std::memcmp(element(array, i), number, itemsize(array.dtype())) != 0) return false;
  }
  return true;
}

// Whether the elements are first, first + step, ... along an axis, as far as their dtype goes, and the same along
// others.
bool is_progression(const Array& array, int axis, double first, double step) {
  const std::vector<double> numbers = array.to_vector<double>();
  int64_t inner = 1;
  for (int i = axis + 1; i < array.ndim(); ++i) inner *= array.shape()[i];
  const int64_t length = array.shape()[axis];
  const double largest = std::abs(first) + std::abs(step) * static_cast<double>(length);
  const double error = is_half(array.dtype()) ? 4e-3 : array.dtype() == Dtype::float32 ? 5e-7 : 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const int64_t place = static_cast<int64_t>(i) / inner % length;
    if (!(std::abs(numbers[i] - first - step * static_cast<double>(place)) <= error * largest)) return false;
  }
  return true;
}

int64_t more_columns(const Array& array) { return array.shape()[array.ndim() - 1] - array.shape()[array.ndim() - 2]; }

// Whether the last two axes are those of matrices with one number up to a diagonal and another one above. `diagonal`:
// of row 0, the last column with the former.
bool is_triangle(const Array& array, const char* lower, const char* upper, int64_t diagonal) {
  const int64_t rows = array.shape()[array.ndim() - 2], columns = array.shape()[array.ndim() - 1];
  for (int64_t i = 0; i < array.size(); ++i) {
    const char* const number = i % columns <= i / columns % rows + diagonal ? lower : upper;
    const auto bytes = static_cast<size_t>(itemsize(array.dtype()));
    if (std::memcmp(element(array, static_cast<size_t>(i)), number, bytes) != 0) return false;
  }
  return true;
}

}  // namespace

std::string GraphBuilder::made(const char* type, const std::string& name, std::vector<std::string> inputs,
                               Attributes attributes) {
  const std::string result = fresh(name);
  add({type, "", "", std::move(inputs), {result}, std::move(attributes)}, "");
  return result;
}

std::string GraphBuilder::size_of_value(const std::string& value, int axis) {
  return made("Gather", value + "_size", {made("Shape", value + "_shape", {value}), integers({axis})},
              {{"axis", int64_t{0}}});
}

std::string GraphBuilder::changing_size(const Sizes& size) {
  if (const auto known = changing_sizes_.find(size); known != changing_sizes_.end()) return known->second;
  const DynamicSizes& dynamic = trace_.dynamic;
  std::string result;
  if (const int symbol = dynamic.symbol_of(size); symbol >= 0) {
    const auto [input, axis] = dynamic.symbols[static_cast<size_t>(symbol)].places.front();
    result = size_of_value(input_names_[input], axis);
  } else if (const auto sum = dynamic.as_sum(size)) {
    for (const auto& [product, factor] : *sum) {
      std::string term = factor == 1 && product != 0 ? "" : integers({factor});
      for (size_t i = 0; i < dynamic.symbols.size(); ++i) {
        if ((product >> i & 1) == 0) continue;
        Sizes of_symbol;
        for (const auto& sizes : dynamic.by_trace) of_symbol.push_back(sizes[i]);
        const std::string factor_name = changing_size(of_symbol);
        term = term.empty() ? factor_name : made("Mul", "size", {factor_name, term});
      }
      result = result.empty() ? term : made("Add", "size", {term, result});
    }
  } else {
    for (int id = 0; id < first_unknown_ && result.empty(); ++id) {
      const Value& v = value(id);
      if (v.kind == Value::Kind::constant) continue;
      for (int axis = 0; axis < v.array.ndim() && result.empty(); ++axis) {
        if (v.sizes(axis) == size) result = size_of_value(name_of(id), axis);
      }
    }
    if (result.empty()) {
      throw ValueError("with " + dynamic.option + ": a size is " + std::to_string(size.front()) + " with " +
                       dynamic.text(0) + " and " + std::to_string(size.back()) + " with " +
                       dynamic.text(size.size() - 1) +
                       ": no sum of products of these is, nor a size of a value before");
    }
  }
  return changing_sizes_[size] = result;
}

std::string GraphBuilder::sizes(const std::vector<Sizes>& sizes) {
  std::vector<std::string> parts;
  std::vector<int64_t> fixed;
  const auto flush = [&] {
    if (!fixed.empty()) parts.push_back(integers(fixed));
    fixed.clear();
  };
  for (const Sizes& size : sizes) {
    if (is_fixed(size)) {
      fixed.push_back(size.front());
      continue;
    }
    flush();
    parts.push_back(changing_size(size));
  }
  flush();
  if (parts.empty()) return integers({});
  if (parts.size() == 1) return parts[0];
  return made("Concat", "shape", parts, {{"axis", int64_t{0}}});
}

std::string GraphBuilder::places(const Sizes& length, const std::vector<int64_t>& shape) {
  if (is_fixed(length)) return constant(arange(length[0], Dtype::int64).reshape({shape.begin(), shape.end()}));
  const auto scalar = [&](int64_t x) { return constant(full({}, x, Dtype::int64)); };
  const std::string all = made("Range", "places", {scalar(0), made("Squeeze", "length", {sizes({length})}), scalar(1)});
  return shape.size() == 1 ? all : made("Reshape", "places", {all, integers(shape)});
}

std::string GraphBuilder::shape_of(int id) { return sizes(sizes_of(value(id))); }

// A constant whose numbers are others with other sizes: one number everywhere, a progression along an axis, or a
// triangle, as masks of attention are.
std::string GraphBuilder::changing_constant(int id) {
  const Value& v = value(id);
  std::vector<Array> all;
  all.push_back(v.array.to_device(Device()).contiguous());
  for (const Array& there : v.numbers) all.push_back(there.to_device(Device()).contiguous());
  const bool has_elements = std::all_of(all.begin(), all.end(), [](const Array& array) { return array.size() > 0; });
  const char* const number = has_elements ? element(all[0], 0) : nullptr;
  const auto is_one = [&](const Array& array) { return is_uniform(array, number); };
  if (has_elements && v.is_dynamic() && std::all_of(all.begin(), all.end(), is_one)) {
    return made("Expand", "constant", {constant(from_host(number, {}, v.array.dtype())), shape_of(id)});
  }
  for (int axis = 0; has_elements && axis < v.array.ndim(); ++axis) {
    if (!v.is_dynamic(axis) || v.array.dtype() == Dtype::bool_) continue;
    int64_t stride = 1;
    for (int i = axis + 1; i < v.array.ndim(); ++i) stride *= v.array.shape()[i];
    const std::vector<double> numbers = all[0].to_vector<double>();
    const int64_t last = v.array.shape()[axis] - 1;
    const double first = numbers[0];
    const double step = (numbers[static_cast<size_t>(stride * last)] - first) / static_cast<double>(last);
    const auto progresses = [&](const Array& array) { return is_progression(array, axis, first, step); };
    if (std::all_of(all.begin(), all.end(), progresses)) return progression(id, axis, first, step);
  }
  if (has_elements) {
    if (const std::string name = triangle(id, all); !name.empty()) return name;
  }
  throw ValueError("with " + trace_.dynamic.option + ": it reads a constant of shape " + to_string(v.array.shape()) +
                   " whose numbers depend on the size: an argument, or F::get_item of a parameter or persistent array, "
                   "gives some for any");
}

std::string GraphBuilder::progression(int id, int axis, double first, double step) {
  const Value& v = value(id);
  const auto number = [&](double x) { return constant(full({}, x, Dtype::float64)); };
  std::vector<int64_t> along(static_cast<size_t>(v.array.ndim()), 1);
  along[static_cast<size_t>(axis)] = -1;
  std::string numbers = places(v.sizes(axis), along);
  if (first != 0 || step != 1) {
    numbers = made("Cast", "places", {numbers}, {{"to", NodeWriter::type_number(Dtype::float64)}});
    numbers = made("Add", "places", {made("Mul", "places", {numbers, number(step)}), number(first)});
  }
  if (v.array.dtype() != Dtype::int64 || first != 0 || step != 1) {
    numbers = made("Cast", "places", {numbers}, {{"to", NodeWriter::type_number(v.array.dtype())}});
  }
  return v.array.ndim() == 1 ? numbers : made("Expand", "constant", {numbers, shape_of(id)});
}

// Empty where the numbers are no triangle, with a diagonal that is the same always or keeps its distance to the corner.
std::string GraphBuilder::triangle(int id, const std::vector<Array>& all) {
  const Value& v = value(id);
  if (v.array.ndim() < 2) return "";
  const int64_t row_count = v.array.shape()[v.array.ndim() - 2], column_count = v.array.shape()[v.array.ndim() - 1];
  const char* const lower = element(all[0], static_cast<size_t>((row_count - 1) * column_count));
  const char* const upper = element(all[0], static_cast<size_t>(column_count - 1));
  int64_t first = -1;  // the diagonal of the first trace
  const auto bytes = static_cast<size_t>(itemsize(v.array.dtype()));
  while (first + 1 < column_count && std::memcmp(element(all[0], static_cast<size_t>(first + 1)), lower, bytes) == 0) {
    ++first;
  }
  Sizes fixed, kept;
  bool is_fixed_one = true, is_kept_one = true;
  for (const Array& array : all) {
    fixed.push_back(first);
    kept.push_back(first + more_columns(array) - more_columns(all[0]));
    is_fixed_one = is_fixed_one && is_triangle(array, lower, upper, fixed.back());
    is_kept_one = is_kept_one && is_triangle(array, lower, upper, kept.back());
  }
  if (!is_fixed_one && !is_kept_one) return "";
  const Sizes& diagonals = is_kept_one ? kept : fixed;
  const auto number = [&](const char* at) { return constant(from_host(at, {}, v.array.dtype())); };
  const int rows = v.array.ndim() - 2, columns = v.array.ndim() - 1;
  std::string last = places(v.sizes(rows), {-1, 1});
  if (diagonals != Sizes(diagonals.size(), 0)) last = made("Add", "places", {last, sizes({diagonals})});
  const std::string is_lower = made("LessOrEqual", "is_lower", {places(v.sizes(columns), {-1}), last});
  const std::string matrix = made("Where", "constant", {is_lower, number(lower), number(upper)});
  return rows == 0 ? matrix : made("Expand", "constant", {matrix, shape_of(id)});
}

}  // namespace kusari::onnx::exporting
