#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/gather_elements.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/scatter_elements.h"
#include "kusari/framework/functions/array/unique.h"
#include "kusari/framework/functions/connection/embed_id.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/families.h"

namespace kusari::onnx {

namespace F = functions;

namespace {

Operation gather(const NodeReader& node) {
  const int64_t axis = node.integer("axis", 0);
  return [axis](const Call& call) -> Values {
    const Variable x = call[0];
    const int at = normalize_axis(axis, x.ndim(), "axis");
    std::vector<Index> indices(static_cast<size_t>(at), Index(Slice{}));
    // One number that is known takes a view.
    if (call.value(1).is_on_host() && call.shape(1).ndim() == 0) {
      indices.emplace_back(call.integer(1, "indices"));
      return {F::get_item(x, indices)};
    }
    const Variable places = call[1];
    if (x.ndim() == 2 && at == 0 && is_floating(x) && !call.value(1).is_on_host()) {
      return {F::embed_id(places, x)};
    }
    indices.emplace_back(places.array());
    return {F::get_item(x, indices)};
  };
}

F::ScatterReduction reduction_of(const NodeReader& node) {
  const std::string name = node.text("reduction", "none");
  expect_one_of("reduction", name, {"none", "add", "mul", "max", "min"});
  return name == "add"   ? F::ScatterReduction::add
         : name == "mul" ? F::ScatterReduction::mul
         : name == "max" ? F::ScatterReduction::max
         : name == "min" ? F::ScatterReduction::min
                         : F::ScatterReduction::none;
}

Operation scatter_elements(const NodeReader& node) {
  const int64_t axis = node.integer("axis", 0);
  const F::ScatterReduction reduction = reduction_of(node);
  return [=](const Call& call) -> Values { return {F::scatter_elements(call[0], call[1], call[2], axis, reduction)}; };
}

Operation scatter_nd(const NodeReader& node) {
  const F::ScatterReduction reduction = reduction_of(node);
  return [=](const Call& call) -> Values { return {F::scatter_nd(call[0], call[1], call[2], reduction)}; };
}

/// New rows of a cache of keys or values.
Operation tensor_scatter(const NodeReader& node) {
  const int64_t axis = node.integer("axis", -2);
  const std::string mode = node.text("mode", "linear");
  expect_one_of("mode", mode, {"linear", "circular"});
  return [=](const Call& call) -> Values {
    const Variable past = call[0], update = call[1];
    const int at = normalize_axis(axis, past.ndim(), "axis");
    const int64_t batch = past.shape()[0], length = past.shape()[at], added = update.shape()[at];
    const std::vector<int64_t> starts =
        call.has(2) ? call.integers(2) : std::vector<int64_t>(static_cast<size_t>(batch), 0);
    if (starts.size() != static_cast<size_t>(batch) || at == 0)
      throw ValueError("write_indices has " + std::to_string(starts.size()) + " numbers for a batch of " +
                       std::to_string(batch));
    std::vector<int64_t> places;
    for (const int64_t start : starts) {
      for (int64_t i = 0; i < added; ++i) {
        const int64_t place = mode == "circular" ? (start + i) % length : start + i;
        if (place < 0 || place >= length)
          throw IndexError("write_indices: place " + std::to_string(place) + " is out of range for " +
                           std::to_string(length));
        places.push_back(place);
      }
    }
    Shape shape = Shape::filled(past.ndim(), 1);
    shape[0] = batch;
    shape[at] = added;
    const Array index = from_host(places.data(), shape, Dtype::int64, past.device()).broadcast_to(update.shape());
    return {F::scatter_elements(past, index, update, at)};
  };
}

Operation unique(const NodeReader& node) {
  F::UniqueOptions options{.sorted = node.flag("sorted", true)};
  if (node.has("axis")) options.axis = node.integer("axis");
  return [options](const Call& call) -> Values {
    const F::UniqueResult result = F::unique(call[0], options);
    return {result.values, result.indices, result.inverse, result.counts};
  };
}

}  // namespace

std::span<const Operator> index_operators() {
  static constexpr Operator kOperators[] = {
      {"Gather", gather},
      {"GatherElements",
       [](const NodeReader& node) {
         return binary([axis = node.integer("axis", 0)](const Variable& x, const Variable& indices) {
           return F::gather_elements(x, indices, axis);
         });
       }},
      {"GatherND",
       [](const NodeReader& node) {
         return binary([batch_dims = node.integer("batch_dims", 0)](const Variable& x, const Variable& indices) {
           return F::gather_nd(x, indices, batch_dims);
         });
       }},
      {"Scatter", scatter_elements},
      {"ScatterElements", scatter_elements},
      {"ScatterND", scatter_nd},
      {"TensorScatter", tensor_scatter},
      {"Unique", unique},
  };
  return kOperators;
}

}  // namespace kusari::onnx
