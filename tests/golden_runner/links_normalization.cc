#include "kusari/framework/links/normalization/group_normalization.h"
#include "kusari/framework/links/normalization/layer_normalization.h"
#include "kusari/tests/golden_runner/links.h"

namespace kusari::golden {
namespace {

template <class Options>
Options affine_options(Args& a) {
  return {.eps = a.number("eps"),
          .initial_gamma = initializer_argument(a, "initial_gamma", 1),
          .initial_beta = initializer_argument(a, "initial_beta", 0)};
}

}  // namespace

void add_normalization_links(LinkTable& table) {
  table.insert({
      {"GroupNormalization",
       [](Args& a) {
         return link_of_x(L::GroupNormalization(a.integer("groups"), a.optional_integer("size").value_or(kInfer),
                                                affine_options<L::GroupNormalizationOptions>(a)));
       }},
      {"LayerNormalization",
       [](Args& a) {
         return link_of_x(L::LayerNormalization(a.optional_integer("size").value_or(kInfer),
                                                affine_options<L::LayerNormalizationOptions>(a)));
       }},
  });
}

}  // namespace kusari::golden
