#include "kusari/framework/links/connection/parameter_link.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/tests/golden_runner/link_makers.h"

namespace kusari::golden {
namespace {

using Model = L::Classifier<AnyLink>;

L::TargetFunction target_function(Args& a, const std::string& name) {
  const auto function = function_argument(a, name);
  return [function](const Variable& y, const Variable& t) { return function(Variables(y, t)); };
}

// {"link": name, "ctor": {...}}: any link that is called with arrays.
AnyLink inner_model(Args& a, const std::string& name) {
  const Json& value = a.raw(name);
  if (!value.is_object() || !value.contains("link")) a.fail(name, "is not a link");
  const LinkUnderTest made = make_link(value.at("link"), value.value("ctor", Json::object()), a.inputs());
  if (!made.model) a.fail(name, "cannot be part of another link here");
  return made.model();
}

LinkUnderTest make_classifier(Args& a) {
  const Json& key = a.raw("label_key");
  std::variant<int, std::string> label_key;
  if (key.is_string()) {
    label_key = key.get<std::string>();
  } else {
    label_key = static_cast<int>(a.integer("label_key"));
  }
  return link_under_test(
      Model(inner_model(a, "predictor"),
            {.lossfun = target_function(a, "lossfun"), .accfun = target_function(a, "accfun"), .label_key = label_key}),
      "forward(*args, **kwargs)",
      [](Model& link, Args& args) {
        const std::vector<Variable> xs = args.more_vars();
        if (const Json& named = args.keywords(); !named.empty()) {
          std::vector<std::string> names;
          std::vector<Variable> values = xs;
          for (size_t i = 0; i < xs.size(); ++i) names.push_back(std::to_string(i));
          for (const auto& [name, value] : named.items()) {
            names.push_back(name);
            values.push_back(args.decode(value));
          }
          return link(DictVariables(names, values));
        }
        switch (xs.size()) {
          case 2:
            return link(xs[0], xs[1]);
          case 3:
            return link(xs[0], xs[1], xs[2]);
          case 4:
            return link(xs[0], xs[1], xs[2], xs[3]);
          default:
            throw std::runtime_error("the runner calls Classifier with one to three arrays and labels");
        }
      },
      [](Model& link, const std::string& name) {
        if (name == "y") return link.y;
        if (name == "loss") return link.loss;
        if (name == "accuracy") return link.accuracy;
        throw std::runtime_error("Classifier has no attribute " + name);
      });
}

// The array that a parameter starts with.
Array start(Args& a, const std::string& name) {
  const Initializer initializer = initializer_argument(a, name, {});
  const Json& value = a.raw(name);
  if (is_array_name(value)) return a.decode(value).array();
  Shape shape;
  const Json* sizes = &value;
  for (const char* const kind : {"zeros", "ones"}) {
    if (value.is_object() && value.contains(kind)) {
      for (const Json& size : value.at(kind)) shape.push_back(size.get<int64_t>());
      return initializers::generate_array(initializer, shape);
    }
  }
  for (; sizes->is_array(); sizes = &sizes->at(0)) shape.push_back(static_cast<int64_t>(sizes->size()));
  return initializers::generate_array(initializer, shape);
}

}  // namespace

void add_model_links(LinkTable& table) {
  table.insert({{"Classifier", make_classifier}, {"Parameter", [](Args& a) {
                                                    return link_under_test(
                                                        L::ParameterLink(start(a, "array")), "forward()",
                                                        [](L::ParameterLink& link, Args&) { return link(); });
                                                  }}});
}

}  // namespace kusari::golden
