#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/links/connection/bias.h"
#include "kusari/framework/links/connection/bilinear.h"
#include "kusari/framework/links/connection/embed_id.h"
#include "kusari/framework/links/connection/highway.h"
#include "kusari/framework/links/connection/scale.h"
#include "kusari/tests/golden_runner/link_makers.h"
#include "kusari/tests/golden_runner/links.h"

namespace kusari::golden {
namespace {

std::optional<Shape> optional_shape(Args& a, const std::string& name) {
  return a.raw(name).is_null() ? std::nullopt : std::optional<Shape>(a.shape(name));
}

std::function<Variable(const Variable&)> activation(const Json& value) {
  if (value.is_null()) return F::relu;
  if (value.at("function") == "tanh") return F::tanh;
  throw std::runtime_error("activate=" + value.dump());
}

/// What is called with x, or with x and what the link does not learn.
template <class T>
LinkUnderTest link_of_one_or_two(T link) {
  return link_under_test(std::move(link), [](T& self, Args& args) {
    const Variable x = args.positional_var(0);
    return args.positional_count() == 1 ? self(x) : self(x, args.positional_var(1));
  });
}

}  // namespace

void add_connection_links(LinkTable& table) {
  table.insert({
      {"Bias",
       [](Args& a) {
         return link_of_one_or_two(L::Bias({.axis = a.integer("axis", 1), .shape = optional_shape(a, "shape")}));
       }},
      {"Bilinear",
       [](Args& a) {
         return link_under_test(L::Bilinear(a.integer("left_size", 0), a.integer("right_size", 0),
                                            a.integer("out_size", 0), {.nobias = a.flag("nobias", false)}),
                                [](L::Bilinear& link, Args& args) { return link(args.var("e1"), args.var("e2")); });
       }},
      {"EmbedID",
       [](Args& a) {
         return link_under_test(L::EmbedID(a.integer("in_size", 0), a.integer("out_size", 0),
                                           {.ignore_label = a.optional_integer("ignore_label")}),
                                [](L::EmbedID& link, Args& args) { return link(args.var("x")); });
       }},
      {"Highway",
       [](Args& a) {
         return link_of_x(L::Highway(a.integer("in_out_size", 0),
                                     {.nobias = a.flag("nobias", false), .activate = activation(a.raw("activate"))}));
       }},
      {"Linear",
       [](Args& a) {
         return link_under_test(make_linear(a), [](L::Linear& link, Args& args) {
           return link(args.var("x"), static_cast<int>(args.integer("n_batch_axes", 1)));
         });
       }},
      {"Scale",
       [](Args& a) {
         return link_of_one_or_two(L::Scale({.axis = a.integer("axis", 1),
                                             .w_shape = optional_shape(a, "W_shape"),
                                             .bias_term = a.flag("bias_term", false),
                                             .bias_shape = optional_shape(a, "bias_shape")}));
       }},
  });
}

}  // namespace kusari::golden
