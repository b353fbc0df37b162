#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kusari/framework/core/config.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/tests/golden_runner/compare.h"
#include "kusari/tests/golden_runner/links.h"
#include "kusari/tests/golden_runner/runners.h"

namespace kusari::golden {
namespace {

// The parameters must be the case's, in dtype and shape too; then they take its values.
void set_params(const Case& c, Link& link) {
  std::vector<std::string> expected = c.names("params"), got;
  for (const auto& [path, param] : link.namedparams()) got.push_back(path.substr(1));
  std::sort(expected.begin(), expected.end());
  std::sort(got.begin(), got.end());
  if (got != expected)
    throw Mismatch("the link has parameters " + Json(got).dump() + ", expected " + Json(expected).dump());
  for (const std::string& path : expected) {
    Parameter& param = link.param("/" + path);
    const Array values = c.array("param/" + path);
    if (!param.is_initialized()) param.initialize(values.shape());
    compare("param/" + path, values, full_like(param.array(), 0), {0, INFINITY});  // shape and dtype
    param.array().copy_from(values);
    param.cleargrad();
  }
}

}  // namespace

void run_link(const Case& c) {
  const auto factory = link_table().find(c.name());
  if (factory == link_table().end()) throw Unsupported("link " + c.name());
  if (!c.names("persistents").empty()) throw Unsupported("persistent values");
  if (c.json().contains("method")) throw Unsupported("method " + c.json().at("method").dump());
  const auto train = using_config(&Config::train, c.json().at("train").get<bool>());

  const std::vector<std::string> grads = c.names("grads"), none = c.names("grads_none");
  Inputs inputs;
  for (const std::string& name : c.names("inputs")) {
    const bool wanted = std::find(grads.begin(), grads.end(), "g" + name) != grads.end() ||
                        std::find(none.begin(), none.end(), name) != none.end();
    inputs[name] = Variable(c.array(name), wanted);
  }
  Args ctor(c.json().at("ctor"), Json::object(), inputs);
  const LinkUnderTest under_test = factory->second(ctor);
  ctor.check_all_used();
  under_test.link->to(c.device());
  set_params(c, *under_test.link);

  Inputs outputs;
  for (const Json& step : c.json().at("steps")) {
    Args args(step.at("args"), c.json().at("attrs"), inputs);
    const Variables results = under_test.call(args);
    args.check_all_used();
    const std::vector<std::string> names = flat_names(step.at("returns"));
    if (names.size() != results.size())
      throw Mismatch("the link returns " + std::to_string(results.size()) + " arrays");
    for (size_t i = 0; i < names.size(); ++i) outputs[names[i]] = results[i];
  }
  if (c.json().contains("state")) {
    for (const auto& [attribute, name] : c.json().at("state").items()) {
      outputs[name.get<std::string>()] = under_test.state(attribute);
    }
  }
  for (const std::string& name : c.names("outputs")) {
    compare(name, outputs.at(name).array(), c.array(name), c.tolerance(name));
  }

  Variables ys, seeds, targets;
  for (const std::string& name : c.names("grad_outputs")) {
    ys.push_back(outputs.at(name.substr(1)));
    seeds.push_back(Variable(c.array(name), false));
  }
  if (ys.empty()) return;
  for (const std::string& name : grads) {
    targets.push_back(name.starts_with("gparam/") ? under_test.link->param("/" + name.substr(7))
                                                  : inputs.at(name.substr(1)));
  }
  const Variables result =
      grad({ys.data(), ys.size()}, {targets.data(), targets.size()}, {.grad_outputs = {seeds.data(), seeds.size()}});
  for (size_t i = 0; i < grads.size(); ++i) {
    compare(grads[i], result[i].is_defined() ? result[i].array() : Array(), c.array(grads[i]), c.tolerance(grads[i]));
  }
}

}  // namespace kusari::golden
