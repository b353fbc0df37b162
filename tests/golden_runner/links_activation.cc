#include "kusari/framework/links/activation/maxout.h"
#include "kusari/framework/links/activation/prelu.h"
#include "kusari/framework/links/activation/simplified_dropconnect.h"
#include "kusari/framework/links/activation/swish.h"
#include "kusari/tests/golden_runner/links.h"

namespace kusari::golden {

void add_activation_links(LinkTable& table) {
  table.insert({
      {"Maxout",
       [](Args& a) {
         return link_of_x(L::Maxout(a.integer("in_size", kInfer), a.integer("out_size", 0), a.integer("pool_size", 1)));
       }},
      {"PReLU",
       [](Args& a) { return link_of_x(L::PReLU({.shape = a.shape("shape"), .init = a.number("init", 0.25)})); }},
      {"SimplifiedDropconnect",
       [](Args& a) {
         return link_under_test(
             L::SimplifiedDropconnect(a.integer("in_size", kInfer), a.integer("out_size", 0),
                                      {.ratio = a.number("ratio", 0.5), .nobias = a.flag("nobias", false)}),
             [](L::SimplifiedDropconnect& link, Args& args) {
               return link(args.var("x"), {.train = args.flag("train", true),
                                           .mask = args.array("mask"),
                                           .use_batchwise_mask = args.flag("use_batchwise_mask", true)});
             });
       }},
      {"Swish",
       [](Args& a) {
         const auto shape = a.raw("beta_shape").is_null() ? std::nullopt : std::optional<Shape>(a.shape("beta_shape"));
         return link_of_x(L::Swish(shape, {.beta_init = a.number("beta_init", 1)}));
       }},
  });
}

}  // namespace kusari::golden
