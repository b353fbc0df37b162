#include "kusari/framework/onnx/export/dynamic_sizes.h"

#include <algorithm>

#include "kusari/framework/core/error.h"

namespace kusari::onnx::exporting {
namespace {

constexpr size_t kMostSymbols = 4;  // each doubles the number of traces

[[noreturn]] void refuse(const std::string& reason) { throw ValueError("onnx::export_model: " + reason); }

std::string name_of_input(const ExportOptions& options, size_t i) {
  return i < options.input_names.size() ? options.input_names[i] : "input_" + std::to_string(i);
}

// x with `size` elements along an axis: its own, over and over.
Array resized(const Array& x, int axis, int64_t size) {
  const int64_t own = x.shape()[axis];
  if (own == size) return x;
  if (size < own) return x.slice(axis, 0, size);
  Shape shape = x.shape();
  shape[axis] = size;
  const Array more = empty(shape, x.dtype(), x.device());
  for (int64_t begin = 0; begin < size; begin += own) {
    const int64_t count = std::min(own, size - begin);
    more.slice(axis, begin, count).copy_from(x.slice(axis, 0, count));
  }
  return more;
}

class SymbolList {
 public:
  explicit SymbolList(std::span<const Variable> inputs) : inputs_{inputs} {}

  void add(const std::string& name, size_t input, int axis) {
    const int64_t size = inputs_[input].shape()[axis];
    for (Symbol& symbol : symbols_) {
      if (symbol.name != name) continue;
      const auto [first, first_axis] = symbol.places.front();
      if (const int64_t known = inputs_[first].shape()[first_axis]; known != size) {
        refuse("'" + name + "' is " + std::to_string(known) + " in axis " + std::to_string(first_axis) + " of input " +
               std::to_string(first) + " and " + std::to_string(size) + " in axis " + std::to_string(axis) +
               " of input " + std::to_string(input) + ": axes of one name must have one size");
      }
      symbol.places.emplace_back(input, axis);
      return;
    }
    symbols_.push_back({name, {{input, axis}}});
  }
  /// The name of an axis, or null.
  const std::string* name_of(size_t input, int axis) const {
    for (const Symbol& symbol : symbols_) {
      const auto& places = symbol.places;
      if (std::find(places.begin(), places.end(), std::pair(input, axis)) != places.end()) return &symbol.name;
    }
    return nullptr;
  }
  std::vector<Symbol> take() { return std::move(symbols_); }
  size_t size() const { return symbols_.size(); }

 private:
  std::span<const Variable> inputs_;
  std::vector<Symbol> symbols_;
};

void add_axes_of(SymbolList& list, const Variable& x, size_t input, const std::map<int, std::string>& axes) {
  for (const auto& [given, name] : axes) {
    const int axis = given < 0 ? given + x.ndim() : given;
    const std::string what = "dynamic_axes: axis " + std::to_string(given) + " of input " + std::to_string(input);
    if (axis < 0 || axis >= x.ndim()) refuse(what + " is not there: it has shape " + to_string(x.shape()));
    if (x.shape()[axis] == 0) refuse(what + " has no elements: the model is called with some");
    if (name.empty()) refuse(what + " has an empty name");
    if (list.name_of(input, axis) != nullptr) refuse(what + " has two names");
    list.add(name, input, axis);
  }
}

}  // namespace

bool is_fixed(const Sizes& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [&](int64_t size) { return size == sizes.front(); });
}

std::string DynamicSizes::text(size_t trace) const {
  std::string all;
  for (size_t i = 0; i < symbols.size(); ++i) {
    all += (i == 0 ? "" : ", ") + symbols[i].name + "=" + std::to_string(by_trace[trace][i]);
  }
  return all;
}

int DynamicSizes::symbol_of(const Sizes& sizes) const {
  for (size_t i = 0; i < symbols.size(); ++i) {
    bool is_same = true;
    for (size_t trace = 0; trace < by_trace.size(); ++trace) is_same = is_same && by_trace[trace][i] == sizes[trace];
    if (is_same) return static_cast<int>(i);
  }
  return -1;
}

std::optional<std::map<unsigned, int64_t>> DynamicSizes::as_sum(const Sizes& sizes) const {
  const size_t corners = this->corners();
  // First in differences from the first trace, as steps of 0 and 1, then in the sizes themselves.
  Sizes factors(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(corners));
  for (size_t i = 0; i < symbols.size(); ++i) {
    const size_t bit = size_t{1} << i;
    const int64_t first = by_trace[0][i], step = by_trace[bit][i] - first;
    for (size_t key = 0; key < corners; ++key) {
      if ((key & bit) == 0) continue;
      const int64_t difference = factors[key] - factors[key ^ bit];
      if (difference % step != 0) return std::nullopt;
      factors[key] = difference / step;
    }
    for (size_t key = 0; key < corners; ++key) {
      if ((key & bit) != 0) factors[key ^ bit] -= factors[key] * first;
    }
  }
  std::map<unsigned, int64_t> sum;
  for (size_t key = 0; key < corners; ++key) {
    if (factors[key] != 0) sum.emplace(static_cast<unsigned>(key), factors[key]);
  }
  for (size_t trace = corners; trace < by_trace.size(); ++trace) {
    int64_t total = 0;
    for (const auto& [key, factor] : sum) {
      int64_t product = factor;
      for (size_t i = 0; i < symbols.size(); ++i) product *= (key >> i & 1) != 0 ? by_trace[trace][i] : 1;
      total += product;
    }
    if (total != sizes[trace]) return std::nullopt;
  }
  return sum;
}

std::vector<Variable> DynamicSizes::inputs(std::span<const Variable> given, size_t trace) const {
  std::vector<Array> arrays;
  for (const Variable& x : given) arrays.push_back(x.array());
  for (size_t i = 0; i < symbols.size(); ++i) {
    for (const auto& [input, axis] : symbols[i].places)
      arrays[input] = resized(arrays[input], axis, by_trace[trace][i]);
  }
  std::vector<Variable> result;
  for (const Array& x : arrays) result.push_back(Variable(x, false));
  return result;
}

std::vector<Symbol> named_sizes(std::span<const Variable> inputs, const ExportOptions& options) {
  SymbolList list(inputs);
  for (const auto& [name, axes] : options.dynamic_axes) {
    size_t i = 0;
    while (i < inputs.size() && name_of_input(options, i) != name) ++i;
    if (i < inputs.size()) {
      add_axes_of(list, inputs[i], i, axes);
      continue;
    }
    // Of an output, whose axes are found; GraphBuilder knows whether there is one.
    if (name.starts_with("output_") ||
        std::find(options.output_names.begin(), options.output_names.end(), name) != options.output_names.end()) {
      continue;
    }
    std::string known;
    for (size_t k = 0; k < inputs.size(); ++k) known += (k == 0 ? "" : ", ") + name_of_input(options, k);
    refuse("dynamic_axes: '" + name + "' is no input: there are " + known);
  }
  if (options.dynamic_batch) {
    if (inputs.empty() || inputs[0].ndim() == 0 || inputs[0].shape()[0] == 0) {
      refuse("dynamic_batch: the first input must have an axis with an example at least");
    }
    const int64_t batch = inputs[0].shape()[0];
    const std::string* const given = list.name_of(0, 0);
    const std::string name = given != nullptr ? *given : "batch";
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].ndim() > 0 && inputs[i].shape()[0] == batch && list.name_of(i, 0) == nullptr) {
        list.add(name, i, 0);
      }
    }
  }
  if (list.size() > kMostSymbols) {
    refuse("dynamic_axes: there are " + std::to_string(list.size()) + " names: at most " +
           std::to_string(kMostSymbols) + " can be told apart");
  }
  return list.take();
}

std::vector<std::vector<int64_t>> corner_sizes(const std::vector<int64_t>& first, const std::vector<int64_t>& steps) {
  std::vector<std::vector<int64_t>> all;
  for (size_t key = 0; key < size_t{1} << first.size(); ++key) {
    all.push_back(first);
    for (size_t i = 0; i < first.size(); ++i) all.back()[i] += (key >> i & 1) != 0 ? steps[i] : 0;
  }
  return all;
}

}  // namespace kusari::onnx::exporting
