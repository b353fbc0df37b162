#include "kusari/framework/xp/joining.h"

#include <string>
#include <vector>

#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/flip.h"
#include "kusari/framework/functions/array/hstack.h"
#include "kusari/framework/functions/array/repeat.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/array/stack.h"
#include "kusari/framework/functions/array/tile.h"
#include "kusari/framework/xp/without_graph.h"

namespace kusari::xp {
namespace {

/// The arrays in their common dtype, as functions take them.
std::vector<Variable> promoted(const char* call, std::span<const Array> xs) {
  if (xs.empty()) throw ValueError(std::string(call) + ": xs is empty: there must be an array");
  for (const Array& x : xs) expect_array(call, "xs", x);
  Dtype dtype = xs[0].dtype();
  for (const Array& x : xs) dtype = promote(dtype, x.dtype());
  std::vector<Variable> results;
  for (const Array& x : xs) results.emplace_back(x.astype(dtype), false);
  return results;
}

Arrays arrays_of(const Variables& xs) {
  Arrays results;
  for (const Variable& x : xs) results.push_back(x.array());
  return results;
}

}  // namespace

Array concatenate(std::span<const Array> xs, int64_t axis) {
  return without_graph("xp::concatenate",
                       [&] { return functions::concat(promoted("xp::concatenate", xs), axis).array(); });
}
Array stack(std::span<const Array> xs, int64_t axis) {
  return without_graph("xp::stack", [&] { return functions::stack(promoted("xp::stack", xs), axis).array(); });
}
Array vstack(std::span<const Array> xs) {
  return without_graph("xp::vstack", [&] { return functions::vstack(promoted("xp::vstack", xs)).array(); });
}
Array hstack(std::span<const Array> xs) {
  return without_graph("xp::hstack", [&] { return functions::hstack(promoted("xp::hstack", xs)).array(); });
}

Arrays split(const Array& x, int64_t sections, int64_t axis) {
  expect_array("xp::split", "x", x);
  return without_graph("xp::split", [&] { return arrays_of(functions::split_axis(x, sections, axis)); });
}
Arrays split(const Array& x, std::span<const int64_t> indices, int64_t axis) {
  expect_array("xp::split", "x", x);
  return without_graph("xp::split", [&] { return arrays_of(functions::split_axis(x, indices, axis)); });
}

Array tile(const Array& x, std::span<const int64_t> reps) {
  expect_array("xp::tile", "x", x);
  return without_graph("xp::tile", [&] { return functions::tile(x, reps).array(); });
}
Array repeat(const Array& x, int64_t repeats, std::optional<int64_t> axis) {
  expect_array("xp::repeat", "x", x);
  return without_graph("xp::repeat", [&] { return functions::repeat(x, repeats, axis).array(); });
}

Array roll(const Array& x, int64_t shift, std::optional<int64_t> axis) {
  expect_array("xp::roll", "x", x);
  if (!axis) return roll(x.reshape({x.size()}), shift, 0).reshape(x.shape());
  const int at = normalize_axis(*axis, x.ndim(), "xp::roll");
  const int64_t n = x.shape()[at];
  const int64_t by = n == 0 ? 0 : (shift % n + n) % n;
  if (by == 0) return x.copy();
  return concatenate({x.slice(at, n - by, by), x.slice(at, 0, n - by)}, at);
}
Array flip(const Array& x, std::optional<int64_t> axis) {
  expect_array("xp::flip", "x", x);
  return without_graph("xp::flip", [&] {
    if (axis) return functions::flip(x, *axis).array();
    Array y = x;
    for (int i = 0; i < x.ndim(); ++i) y = functions::flip(y, i).array();
    return y;
  });
}
Array moveaxis(const Array& x, int64_t source, int64_t destination) {
  expect_array("xp::moveaxis", "x", x);
  const int from = normalize_axis(source, x.ndim(), "xp::moveaxis"),
            to = normalize_axis(destination, x.ndim(), "xp::moveaxis");
  std::vector<int64_t> axes;
  for (int i = 0; i < x.ndim(); ++i) {
    if (i != from) axes.push_back(i);
  }
  axes.insert(axes.begin() + to, from);
  return x.transpose(std::span<const int64_t>(axes));
}

}  // namespace kusari::xp
