// Functions that read indices or lay out tables, inside recorded calls: indices are read again by each replay, tables
// are kept.
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/functions/array/gather_elements.h"
#include "kusari/framework/functions/array/grid_sample.h"
#include "kusari/framework/functions/array/one_hot.h"
#include "kusari/framework/functions/array/pad.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/resize_nd.h"
#include "kusari/framework/functions/array/reverse_sequence.h"
#include "kusari/framework/functions/array/scatter_elements.h"
#include "kusari/framework/functions/array/triu.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/comparison.h"
#include "kusari/framework/functions/math/cumsum.h"
#include "kusari/framework/functions/math/logical.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/pooling/average_pooling_nd.h"
#include "kusari/framework/functions/pooling/max_pooling_nd.h"
#include "kusari/framework/static_graph/static_graph.h"

namespace kusari {
namespace F = functions;
namespace {

Array mixed_numbers(const Shape& shape, int64_t seed) {
  const Array result = empty(shape);
  for (int64_t i = 0; i < result.size(); ++i) {
    result.data<float>()[i] = 0.3f * static_cast<float>((i * 5 + seed * 3) % 11 - 5) + 0.01f * static_cast<float>(i);
  }
  return result;
}

/// (2, 4) numbers from 0 to 3.
Array mixed_indices(int64_t seed) {
  const Array result = empty({2, 4}, Dtype::int64);
  for (int64_t i = 0; i < result.size(); ++i) result.data<int64_t>()[i] = (i * 3 + seed * 5 + i / 3) % 4;
  return result;
}

/// Calls of x: (2, 4), floating, and t: (2, 4), indices.
struct RecordedFunction {
  const char* name;
  Variable (*call)(const Variable& x, const Variable& t);
};
const RecordedFunction kRecordedFunctions[] = {
    {"gather_elements", [](const Variable& x, const Variable& t) { return F::gather_elements(x, t, 1); }},
    {"gather_nd",
     [](const Variable& x, const Variable& t) {
       return F::gather_nd(x, F::reshape(t, {2, 4, 1}), 1);
     }},
    {"scatter_elements", [](const Variable& x, const Variable& t) { return F::scatter_elements(x, t, x * 3, 1); }},
    {"scatter_elements, added",
     [](const Variable& x, const Variable& t) {
       return F::scatter_elements(x, t, x * 3, 1, F::ScatterReduction::add);
     }},
    {"scatter_nd",
     [](const Variable& x, const Variable& t) {
       return F::scatter_nd(F::reshape(x, {8}), F::reshape(t, {8, 1}), F::reshape(x * x, {8}));
     }},
    {"one_hot",
     [](const Variable& x, const Variable& t) {
       return F::one_hot(t, 3) * F::reshape(x, {2, 4, 1});
     }},
    {"triu", [](const Variable& x, const Variable&) { return F::triu(x, 1) * F::tril(x, 2); }},
    {"reverse_sequence",
     [](const Variable& x, const Variable& t) {
       return F::reverse_sequence(F::reshape(x, {4, 2}), F::sum(t, 1) - F::sum(t, 1) + 3) * 2;
     }},
    {"resize_nd",
     [](const Variable& x, const Variable&) {
       return F::resize_nd(x, {.sizes = {3, 7}, .mode = F::ResizeFilter::cubic});
     }},
    {"grid_sample",
     [](const Variable& x, const Variable&) {
       const Variable image = F::reshape(x, {1, 1, 2, 4}), grid = F::reshape(x * 0.4f, {1, 2, 2, 2});
       return F::grid_sample(image, grid, {.padding = F::GridSamplePadding::reflection});
     }},
    {"max_pooling_nd",
     [](const Variable& x, const Variable&) {
       return F::max_pooling_nd(F::reshape(x, {1, 2, 4}), 2, {.stride = 1, .pad_end = 1, .dilate = 2});
     }},
    {"average_pooling_nd",
     [](const Variable& x, const Variable&) {
       return F::average_pooling_nd(F::reshape(x, {1, 2, 4}), 2,
                                    {.stride = 1, .pad_value = std::nullopt, .pad_end = 1});
     }},
    {"cumsum, exclusive", [](const Variable& x, const Variable&) { return F::cumsum(x, 1, {.exclusive = true}); }},
    {"pad, negative",
     [](const Variable& x, const Variable&) {
       return F::pad(x, {{0, 1}, {-1, 2}}) * 2;
     }},
    {"comparisons and logic", [](const Variable& x, const Variable& t) {
       return F::where(F::logical_and(F::greater(x, Variable(zeros({}), false)), F::logical_not(t)), x * x, x);
     }}};

TEST_CASE("static graphs replay functions with indices and tables") {
  for (const RecordedFunction& function : kRecordedFunctions) {
    CAPTURE(function.name);
    auto graph = static_graph([&](const Variable& x, const Variable& t) { return function.call(x, t); });
    for (int64_t i = 0; i < 4; ++i) {
      const Variable x(mixed_numbers({2, 4}, i)), same(mixed_numbers({2, 4}, i)), t(mixed_indices(i), false);
      const Variable y = graph(x, t), expected = function.call(same, t);
      F::sum(y * y).backward();
      F::sum(expected * expected).backward();
      CHECK(y.to_vector<float>() == expected.to_vector<float>());
      CHECK(x.grad().to_vector<float>() == same.grad().to_vector<float>());
    }
    CHECK(graph.summary().find("define-by-run") == std::string::npos);
  }
}

}  // namespace
}  // namespace kusari
