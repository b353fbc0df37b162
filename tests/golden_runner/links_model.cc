#include "kusari/framework/links/model/classifier.h"
#include "kusari/tests/golden_runner/link_makers.h"
#include "kusari/tests/golden_runner/links.h"

namespace kusari::golden {
namespace {

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

void add_model_links(LinkTable& table) { table.insert({{"Classifier", make_classifier}}); }

}  // namespace kusari::golden
