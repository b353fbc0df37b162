#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "kusari/framework/core/config.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/tests/golden_runner/compare.h"
#include "kusari/tests/golden_runner/link_persistents.h"
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

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Inputs make_inputs(const Case& c) {
  const std::vector<std::string> grads = c.names("grads"), none = c.names("grads_none");
  Inputs inputs;
  for (const std::string& name : c.names("inputs")) {
    const bool wanted = holds(grads, "g" + name) || holds(none, "g" + name) || holds(none, name);
    inputs[name] = Variable(c.array(name), wanted);
  }
  return inputs;
}

// Calls the link, or the method that the case names, once per step; results by their names.
Inputs run_steps(const Case& c, const LinkUnderTest& under_test, const Inputs& inputs) {
  const LinkMethod* called = &under_test.call;
  if (c.json().contains("method")) {
    const auto method = under_test.methods.find(c.json().at("method"));
    if (method == under_test.methods.end()) throw Unsupported("method " + c.json().at("method").dump());
    called = &method->second;
  }
  Inputs outputs;
  for (const Json& step : c.json().at("steps")) {
    Args args(called->signature, step.at("args"), c.json().at("attrs"), inputs);
    const Variables results = called->call(args);
    args.check_all_used();
    const std::vector<std::string> names = flat_names(step.at("returns"));
    if (names.size() != results.size()) {
      throw Mismatch("the link returns " + std::to_string(results.size()) + " arrays, expected " +
                     std::to_string(names.size()));
    }
    for (size_t i = 0; i < names.size(); ++i) outputs[names[i]] = results[i];
  }
  if (c.json().contains("state")) {
    for (const auto& [attribute, name] : c.json().at("state").items()) {
      outputs[name.get<std::string>()] = under_test.state(attribute);
    }
  }
  return outputs;
}

void compare_gradients(const Case& c, Link& link, const Inputs& inputs, const Inputs& outputs) {
  Variables ys, seeds, targets;
  for (const std::string& name : c.names("grad_outputs")) {
    ys.push_back(outputs.at(name.substr(1)));
    seeds.push_back(Variable(c.array(name), false));
  }
  if (ys.empty()) return;
  const std::vector<std::string> grads = c.names("grads"), none = c.names("grads_none");
  const auto target = [&](const std::string& name) -> Variable {
    if (name.starts_with("gparam/")) return link.param("/" + name.substr(7));
    return inputs.at(name.starts_with("g") ? name.substr(1) : name);
  };
  for (const std::string& name : grads) targets.push_back(target(name));
  for (const std::string& name : none) targets.push_back(target(name));
  const Variables result =
      grad({ys.data(), ys.size()}, {targets.data(), targets.size()}, {.grad_outputs = {seeds.data(), seeds.size()}});
  const auto array_of = [](const Variable& v) { return v.is_defined() ? v.array() : Array(); };
  for (size_t i = 0; i < grads.size(); ++i) {
    compare(grads[i], array_of(result[i]), c.array(grads[i]), c.tolerance(grads[i]));
  }
  for (size_t i = 0; i < none.size(); ++i) {
    compare_zero(none[i], array_of(result[grads.size() + i]), c.tolerance(none[i]));
  }
}

}  // namespace

void run_link(const Case& c) {
  const auto train = using_config(&Config::train, c.json().at("train").get<bool>());

  const Inputs inputs = make_inputs(c);
  const LinkUnderTest under_test =
      make_link(c.name(), c.json().at("ctor"), inputs, c.json().value("note", std::string()));
  Link& link = *under_test.link;
  link.to(c.device());
  // The shapes of a lazy link's parameters come from the case's arrays.
  set_params(c, link);
  set_persistents(c, link);

  const Inputs outputs = run_steps(c, under_test, inputs);
  for (const std::string& name : c.names("outputs")) {
    compare(name, outputs.at(name).array(), c.array(name), c.tolerance(name));
  }
  compare_persistents(c, link);
  compare_gradients(c, link, inputs, outputs);
}

}  // namespace kusari::golden
