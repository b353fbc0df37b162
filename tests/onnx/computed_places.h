#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "kusari/framework/kusari.h"
#include "kusari/tests/onnx/export_inputs.h"

namespace kusari::testing {

/// Models of x (N, 4) whose places and conditions are computed, by functions and outside of them, with their names.
inline std::vector<std::pair<const char*, std::function<Variable(const Variable&)>>> computed_places() {
  return {
      {"select_item", [](const Variable& v) { return F::select_item(v * 2, F::argmax(v, 1)); }},
      {"gather_elements", [](const Variable& v) { return F::gather_elements(F::exp(v), F::top_k(v, 2).indices, 1); }},
      {"gather_elements_of_rows",
       [](const Variable& v) {
         return F::gather_elements(fixed({5, 4}), F::reshape(F::argmin(v, 1), {-1, 1}), 0);
       }},
      {"get_item",
       [](const Variable& v) {
         return F::get_item(fixed({4, 2}), {F::argmax(v, 1).array()});
       }},
      {"embed_id",
       [](const Variable& v) {
         return F::embed_id(Variable((v.array() > 0).astype(Dtype::int32), false), fixed({2, 3}));
       }},
      {"one_hot", [](const Variable& v) { return F::one_hot(F::argmax(v, 1), 5, {.on_value = 2, .off_value = -1}); }},
      {"one_hot_axis", [](const Variable& v) { return v * F::sum(F::one_hot(F::argmax(v, 1) - 1, 4, {.axis = 0})); }},
      {"where", [](const Variable& v) { return F::where(Variable(v > 0.5, false), v, v * v); }},
      {"where_not", [](const Variable& v) { return F::where(F::logical_not(Variable(v <= -0.1, false)), v * 3, v); }},
      {"where_between", [](const Variable& v) { return F::where(Variable((v > -0.5) & (v < 0.5), false), v, v * 2); }},
      {"where_equal",
       [](const Variable& v) {
         const Variable best = F::max(v, {.axis = 1, .keepdims = true});
         return F::where(F::equal(v, best), v, v * 0);
       }},
      {"where_not_equal",
       [](const Variable& v) {
         return F::where(F::not_equal(F::argmax(v, 1), F::argmin(v * v, 1)), F::sum(v, 1), F::max(v, 1));
       }},
      {"where_finite",
       [](const Variable& v) {
         const Variable y = F::log(v);
         const Variable is_number = F::logical_not(F::isnan(y));
         return F::where(F::logical_xor(is_number, F::isinf(v)), F::absolute(v), v);
       }},
      {"masked_fill", [](const Variable& v) { return F::masked_fill(v, Variable(v >= 0.25, false), -1); }},
      {"attention_mask",
       [](const Variable& v) {
         const Variable x = F::reshape(v, {-1, 1, 2, 2});
         return F::scaled_dot_product_attention(x, x, x * 2, {.mask = F::sum(x, 3).array().expand_dims(2) > 0.0});
       }},
      {"greater", [](const Variable& v) { return F::greater(v, -v); }},
      {"mask", [](const Variable& v) { return v * Variable((v.array() > 0).astype(v.dtype()), false); }},
      {"arithmetic",
       [](const Variable& v) {
         const Array a = v.array();
         return v * Variable((2 - xp::maximum(a, a * 0.5)) / (a * a + 1) - 1 / (xp::minimum(a, -a) - 1), false);
       }},
      {"integers",
       [](const Variable& v) {
         return F::embed_id(Variable((F::argmax(v, 1).array() * 3 - 1) - F::argmin(v, 1).array(), false),
                            fixed({20, 3}));
       }},
  };
}

}  // namespace kusari::testing
