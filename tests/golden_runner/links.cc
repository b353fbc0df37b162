#include "kusari/tests/golden_runner/links.h"

#include "kusari/framework/links/connection/embed_id.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/classifier.h"

namespace kusari::golden {
namespace {

// Chainer's Linear(n) has the output size alone; None and a missing size are inferred.
L::Linear make_linear(Args& a) {
  const L::LinearOptions options{.nobias = a.flag("nobias", false)};
  if (a.positional_count() == 1) return L::Linear(a.positional(0).get<int64_t>(), options);
  return L::Linear(a.integer("in_size", kInfer), a.integer("out_size", 0), options);
}

LinkUnderTest make_classifier(Args& a) {
  const Json& predictor = a.raw("predictor");
  if (predictor.at("link") != "Linear") throw std::runtime_error("predictor " + predictor.dump());
  Args inner(predictor.at("ctor"), Json::object(), a.inputs());
  L::Linear linear = make_linear(inner);
  inner.check_all_used();
  using Model = L::Classifier<L::Linear>;
  return link_under_test(
      L::classifier(std::move(linear)),
      [](Model& link, Args& args) { return link(args.positional_var(0), args.positional_var(1)); },
      [](Model& link, const std::string& name) {
        if (name == "y") return link.y;
        if (name == "loss") return link.loss;
        if (name == "accuracy") return link.accuracy;
        throw std::runtime_error("Classifier has no attribute " + name);
      });
}

}  // namespace

const std::map<std::string, LinkFactory>& link_table() {
  static const std::map<std::string, LinkFactory> table = {
      {"Classifier", make_classifier},
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
  };
  return table;
}

}  // namespace kusari::golden
