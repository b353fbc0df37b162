#include "kusari/framework/links/activation/maxout.h"
#include "kusari/framework/links/activation/prelu.h"
#include "kusari/framework/links/activation/simplified_dropconnect.h"
#include "kusari/framework/links/activation/swish.h"
#include "kusari/tests/golden_runner/link_makers.h"

namespace kusari::golden {

void add_activation_links(LinkTable& table) {
  table.insert({
      {"Maxout",
       [](Args& a) {
         // No bias at all without its start.
         const L::MaxoutOptions options{.nobias = a.raw("initial_bias").is_null(),
                                        .initial_w = initializer_argument(a, "initialW", {}),
                                        .initial_bias = initializer_argument(a, "initial_bias", 0)};
         return link_of_x(L::Maxout(a.optional_integer("in_size").value_or(kInfer), a.integer("out_size"),
                                    a.integer("pool_size"), options));
       }},
      {"PReLU",
       [](Args& a) {
         return link_of_x(L::PReLU({.shape = a.shape("shape"), .init = initializer_argument(a, "init", 0.25)}));
       }},
      {"SimplifiedDropconnect",
       [](Args& a) {
         const L::SimplifiedDropconnectOptions options{.ratio = a.number("ratio"),
                                                       .nobias = a.flag("nobias"),
                                                       .initial_w = initializer_argument(a, "initialW", {}),
                                                       .initial_bias = initializer_argument(a, "initial_bias", 0)};
         return link_under_test(
             L::SimplifiedDropconnect(a.optional_integer("in_size").value_or(kInfer), a.integer("out_size"), options),
             "forward(x, train=True, mask=None, use_batchwise_mask=True)",
             [](L::SimplifiedDropconnect& link, Args& args) {
               return link(args.var("x"), {.train = args.flag("train"),
                                           .mask = args.array("mask"),
                                           .use_batchwise_mask = args.flag("use_batchwise_mask")});
             });
       }},
      {"Swish",
       [](Args& a) {
         return link_of_x(
             L::Swish(a.optional_shape("beta_shape"), {.beta_init = initializer_argument(a, "beta_init", 1)}));
       }},
  });
}

}  // namespace kusari::golden
