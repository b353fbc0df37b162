#include "kusari/framework/links/connection/embed_id.h"
#include "kusari/tests/golden_runner/link_makers.h"
#include "kusari/tests/golden_runner/links.h"

namespace kusari::golden {

void add_connection_links(LinkTable& table) {
  table.insert({
      {"EmbedID",
       [](Args& a) {
         return link_under_test(L::EmbedID(a.integer("in_size", 0), a.integer("out_size", 0),
                                           {.ignore_label = a.optional_integer("ignore_label")}),
                                [](L::EmbedID& link, Args& args) { return link(args.var("x")); });
       }},
      {"Linear",
       [](Args& a) {
         return link_under_test(make_linear(a), [](L::Linear& link, Args& args) {
           return link(args.var("x"), static_cast<int>(args.integer("n_batch_axes", 1)));
         });
       }},
  });
}

}  // namespace kusari::golden
