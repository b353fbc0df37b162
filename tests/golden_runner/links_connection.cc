#include "kusari/framework/links/connection/bias.h"
#include "kusari/framework/links/connection/bilinear.h"
#include "kusari/framework/links/connection/embed_id.h"
#include "kusari/framework/links/connection/highway.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/connection/scale.h"
#include "kusari/tests/golden_runner/link_makers.h"

namespace kusari::golden {
namespace {

/// What is called with x, or with x and what the link does not learn.
template <class T>
LinkUnderTest link_of_one_or_two(T link) {
  return link_under_test(std::move(link), "forward(*xs)", [](T& self, Args& args) {
    const std::vector<Variable> xs = args.more_vars();
    if (xs.size() != 1 && xs.size() != 2) throw std::runtime_error("the link takes one array or two");
    return xs.size() == 1 ? self(xs[0]) : self(xs[0], xs[1]);
  });
}

// initial_bias: None, or what V1, V2 and b start with.
LinkUnderTest bilinear(Args& a) {
  L::BilinearOptions options{.nobias = a.flag("nobias"), .initial_w = initializer_argument(a, "initialW", {})};
  if (const Json& starts = a.raw("initial_bias"); !starts.is_null()) {
    if (!starts.is_array() || starts.size() != 3) a.fail("initial_bias", "must be three starts");
    static const Signature three = Signature::parse("initial_bias(V1, V2, b)");
    Args each(three, {{"*", starts}}, Json::object(), a.inputs());
    options.initial_v1 = initializer_argument(each, "V1", {});
    options.initial_v2 = initializer_argument(each, "V2", {});
    options.initial_b = initializer_argument(each, "b", {});
  }
  return link_under_test(L::Bilinear(a.integer("left_size"), a.integer("right_size"), a.integer("out_size"), options),
                         "forward(e1, e2)",
                         [](L::Bilinear& link, Args& args) { return link(args.var("e1"), args.var("e2")); });
}

LinkUnderTest highway(Args& a) {
  return link_of_x(L::Highway(a.integer("in_out_size"), {.nobias = a.flag("nobias"),
                                                         .activate = activation_argument(a, "activate"),
                                                         .init_wh = initializer_argument(a, "init_Wh", {}),
                                                         .init_wt = initializer_argument(a, "init_Wt", {}),
                                                         .init_bh = initializer_argument(a, "init_bh", 0),
                                                         .init_bt = initializer_argument(a, "init_bt", 0)}));
}

LinkUnderTest linear(Args& a) {
  const Sizes sizes = linear_sizes(a);
  const L::LinearOptions options{.nobias = a.flag("nobias"),
                                 .initial_w = initializer_argument(a, "initialW", {}),
                                 .initial_bias = initializer_argument(a, "initial_bias", 0)};
  return link_under_test(
      L::Linear(sizes.in, sizes.out, options), "forward(x, n_batch_axes=1)",
      [](L::Linear& link, Args& args) { return link(args.var("x"), static_cast<int>(args.integer("n_batch_axes"))); });
}

}  // namespace

void add_connection_links(LinkTable& table) {
  table.insert({
      {"Bias",
       [](Args& a) {
         return link_of_one_or_two(L::Bias({.axis = a.integer("axis"), .shape = a.optional_shape("shape")}));
       }},
      {"Bilinear", bilinear},
      {"EmbedID",
       [](Args& a) {
         return link_of_x(L::EmbedID(a.integer("in_size"), a.integer("out_size"),
                                     {.initial_w = initializer_argument(a, "initialW", {}),
                                      .ignore_label = a.optional_integer("ignore_label")}));
       }},
      {"Highway", highway},
      {"Linear", linear},
      {"Scale",
       [](Args& a) {
         return link_of_one_or_two(L::Scale({.axis = a.integer("axis"),
                                             .w_shape = a.optional_shape("W_shape"),
                                             .bias_term = a.flag("bias_term"),
                                             .bias_shape = a.optional_shape("bias_shape")}));
       }},
  });
}

}  // namespace kusari::golden
