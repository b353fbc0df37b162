#include "kusari/framework/links/normalization/group_normalization.h"
#include "kusari/framework/links/normalization/layer_normalization.h"
#include "kusari/tests/golden_runner/links.h"

namespace kusari::golden {

void add_normalization_links(LinkTable& table) {
  table.insert({
      {"GroupNormalization",
       [](Args& a) {
         return link_of_x(
             L::GroupNormalization(a.integer("groups", 1), a.integer("size", kInfer), {.eps = a.number("eps", 1e-5)}));
       }},
      {"LayerNormalization",
       [](Args& a) {
         return link_of_x(L::LayerNormalization(a.integer("size", kInfer), {.eps = a.number("eps", 1e-6)}));
       }},
  });
}

}  // namespace kusari::golden
