#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/onnx/export_model.h"

// Sizes that a run of the exported file may change, and what a model makes of them.
namespace kusari::onnx::exporting {

/// A size that has a name: "batch", "length". Axes of several inputs may have it.
struct Symbol {
  std::string name;
  std::vector<std::pair<size_t, int>> places;  // input and axis; the first is where it is read
};

/// A size in each of the traces; the first trace is the one that is written.
using Sizes = std::vector<int64_t>;

bool is_fixed(const Sizes& sizes);

/// The named sizes and what they are in each trace: by trace, by symbol. Trace i below 2^symbols, a corner, has other
/// sizes for the symbols of i's bits, so that products of sizes are told from sums; those behind show what is neither,
/// and tell apart what is the same in the corners.
struct DynamicSizes {
  std::string option;  // that asked for it, for messages: "dynamic_batch"
  std::vector<Symbol> symbols;
  std::vector<std::vector<int64_t>> by_trace;

  /// "batch=2, length=8".
  std::string text(size_t trace) const;
  size_t corners() const { return size_t{1} << symbols.size(); }
  /// The symbol that a size is, or -1.
  int symbol_of(const Sizes& sizes) const;
  /// Factors of the products of symbols (bits of the key) that a size is the sum of; none if it is no such sum.
  std::optional<std::map<unsigned, int64_t>> as_sum(const Sizes& sizes) const;
  /// The inputs of a trace, filled with their own elements over and over.
  std::vector<Variable> inputs(std::span<const Variable> given, size_t trace) const;
};

/// The symbols that the options name. Throws ValueError for inputs and axes that are not there, and for one name of two
/// sizes.
std::vector<Symbol> named_sizes(std::span<const Variable> inputs, const ExportOptions& options);

/// What the symbols are in the corners: `first`, or steps away from it.
std::vector<std::vector<int64_t>> corner_sizes(const std::vector<int64_t>& first, const std::vector<int64_t>& steps);

}  // namespace kusari::onnx::exporting
