#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/tests/golden_runner/args.h"
#include "kusari/tests/golden_runner/compare.h"
#include "kusari/tests/golden_runner/optimizers.h"
#include "kusari/tests/golden_runner/runners.h"

namespace kusari::golden {
namespace {

double& override_of(Hyperparameters& hyperparameters, const std::string& name) {
  double* found = nullptr;
  hyperparameters.for_each([&](const char* known, std::optional<double>& value) {
    if (name != known) return;
    if (!value) value = 0;
    found = &*value;
  });
  if (found == nullptr) throw Unsupported("hyperparameter " + name);
  return *found;
}

// What this runner reads of it.
const std::set<std::string> kSetup = {"fp32_update", "hooks",     "param_hooks", "overrides",
                                      "disabled",    "none_grad", "schedule"};

void apply_setup(const Json& setup, Optimizer& optimizer, CaseParameters& link) {
  for (const auto& [key, value] : setup.items()) {
    if (!kSetup.contains(key)) throw std::runtime_error("setup has " + key + ", which the runner does not know");
  }
  if (setup.value("fp32_update", false)) optimizer.use_fp32_update();
  optimizer.setup(link);
  for (const Json& hook : setup.value("hooks", Json::array())) optimizer.add_hook(make_hook(hook.at(0), hook.at(1)));
  for (const Json& hook : setup.value("param_hooks", Json::array())) {
    link[hook.at(0)].update_rule().add_hook(make_hook(hook.at(1), hook.at(2)));
  }
  const Json overrides = setup.value("overrides", Json::object());
  for (const auto& [parameter, values] : overrides.items()) {
    for (const auto& [name, value] : values.items()) {
      override_of(link[parameter].update_rule().hyperparam(), name) = value;
    }
  }
  for (const std::string name : setup.value("disabled", Json::array())) link[name].update_rule().enabled = false;
}

void compare_state(const Case& c, int64_t t, CaseParameters& link) {
  const std::string step = std::to_string(t);
  for (const std::string& name : c.names("params")) {
    const std::string key = "param/" + step + "/" + name;
    compare(key, link[name].array(), c.array(key), c.tolerance(key));
    for (const std::string& state : c.names("states")) {
      const std::string state_key = "state/" + step + "/" + name + "/" + state;
      if (!c.has_array(state_key)) continue;
      compare(state_key, link[name].update_rule().state(state), c.array(state_key), c.tolerance(state_key));
    }
    const std::string master = "fp32/" + step + "/" + name;
    if (c.has_array(master))
      compare(master, link[name].update_rule().state("fp32_param"), c.array(master), c.tolerance(master));
  }
}

}  // namespace

void run_optimizer(const Case& c) {
  const Json& setup = c.json().at("setup");
  CaseParameters link(c, "param/0/");
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(c.name(), c.json().at("ctor"));
  apply_setup(setup, *optimizer, link);
  const Json schedule = setup.value("schedule", Json::object()), none = setup.value("none_grad", Json::object());
  const std::vector<int64_t> snapshots = c.json().at("snapshots");
  const int64_t steps = c.json().at("steps");
  for (int64_t t = 1; t <= steps; ++t) {
    if (schedule.contains(std::to_string(t))) {
      for (const auto& [name, value] : schedule.at(std::to_string(t)).items()) optimizer->hyperparameter(name) = value;
    }
    for (const std::string& name : c.names("params")) {
      const std::vector<int64_t> cleared = none.value(name, std::vector<int64_t>());
      if (std::find(cleared.begin(), cleared.end(), t) != cleared.end()) {
        link[name].cleargrad();
      } else {
        link[name].set_grad(c.array("grad/" + name).at(t - 1).copy());
      }
    }
    optimizer->update();
    if (std::find(snapshots.begin(), snapshots.end(), t) != snapshots.end()) compare_state(c, t, link);
  }
  compare("t", static_cast<double>(optimizer->t()), c.array("t").item<double>(), {0, 0});
  for (const auto& [name, t] : c.json().at("rule_t").items()) {
    compare("rule_t/" + name, static_cast<double>(link[name].update_rule().t()), t.get<double>(), {0, 0});
  }
}

void run_loss_scaling(const Case& c) {
  for (const char* const key : {"none_grad", "schedule"}) {
    if (c.json().at("setup").contains(key)) throw std::runtime_error(std::string("loss_scaling knows no ") + key);
  }
  CaseParameters link(c, "param/0/");
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(c.json().at("optimizer"), c.json().at("ctor"));
  apply_setup(c.json().at("setup"), *optimizer, link);
  static const Signature signature = Signature::parse("loss_scaling(interval=1000, scale=None)");
  const Inputs none;
  Args scaling(signature, c.json().at("loss_scaling"), Json::object(), none);
  optimizer->loss_scaling(
      {.interval = scaling.number("interval"), .scale = scaling.optional_number("scale"), .chainer_compatible = true});
  scaling.check_all_used();

  const int64_t steps = c.json().at("steps");
  const auto check = [&](const std::string& key, int64_t at, double got) {
    compare(key + "[" + std::to_string(at) + "]", got, c.array(key).at(at).item<double>(), c.tolerance(key));
  };
  check("loss_scale", 0, optimizer->loss_scale());
  for (int64_t t = 0; t < steps; ++t) {
    optimizer->update([&] {
      const auto term = [&](const char* name) {
        return functions::sum(link[name] * Variable(c.array(std::string("x/") + name).at(t), false));
      };
      return term("a") + term("b");
    });
    check("loss_scale", t + 1, optimizer->loss_scale());
    check("t", t, static_cast<double>(optimizer->t()));
    check("rule_t", t, static_cast<double>(link["a"].update_rule().t()));
    check("safe", t, optimizer->is_safe_to_update() ? 1 : 0);
    for (const std::string& name : c.names("params")) {
      const std::string param = "params/" + name, grad = "grads/" + name;
      compare(param, link[name].array(), c.array(param).at(t), c.tolerance(param));
      compare(grad, link[name].grad(), c.array(grad).at(t), c.tolerance(grad));
    }
  }
}

}  // namespace kusari::golden
