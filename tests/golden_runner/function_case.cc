#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/static_graph/static_graph.h"
#include "kusari/tests/golden_runner/args.h"
#include "kusari/tests/golden_runner/compare.h"
#include "kusari/tests/golden_runner/functions.h"
#include "kusari/tests/golden_runner/runners.h"

namespace kusari::golden {
namespace {

/// Functions whose float64 results on float32 scores are NumPy's accident (golden/README.md).
const std::set<std::string> kAnyFloat = {"classification_summary", "f1_score", "precision", "recall"};

/// One run of the function on fresh inputs.
class FunctionRun {
 public:
  /// Through `graph` if there is one.
  FunctionRun(const Case& c, const Adapter& adapter, detail::StaticGraphCache* graph = nullptr) : case_{c} {
    const std::vector<std::string> grads = c.names("grads"), none = c.names("grads_none");
    for (const std::string& name : c.names("inputs")) {
      const auto has = [&](const std::vector<std::string>& list, const std::string& entry) {
        return std::find(list.begin(), list.end(), entry) != list.end();
      };
      inputs_[name] = Variable(c.array(name), has(grads, "g" + name) || has(none, name) || has(none, "g" + name));
    }
    const Variables results = graph == nullptr ? called(c, adapter, inputs_) : replayed(adapter, *graph);
    const std::vector<std::string> names = flat_names(c.json().at("returns"));
    if (names.size() != results.size()) {
      throw Mismatch("the function returns " + std::to_string(results.size()) + " arrays, expected " +
                     std::to_string(names.size()));
    }
    for (size_t i = 0; i < names.size(); ++i) outputs_[names[i]] = results[i];
  }

  void compare_outputs() const {
    CompareOptions options;
    options.any_float_dtype = kAnyFloat.contains(case_.name());
    for (const std::string& name : case_.names("outputs")) {
      const Variable& y = outputs_.at(name);
      compare(name, y.is_defined() ? y.array() : Array(), case_.array(name), case_.tolerance(name), options);
    }
  }

  void compare_mutated() const {
    if (!case_.json().contains("mutated")) return;
    for (const auto& [input, after] : case_.json().at("mutated").items()) {
      compare(after.get<std::string>(), inputs_.at(input).array(), case_.array(after), case_.tolerance(after));
    }
  }

  // The outputs that carry a gradient, and their seeds gyK.
  void seeds(bool differentiable, Variables& outputs, Variables& seeds) const {
    for (const std::string& name : case_.names("grad_outputs")) {
      outputs.push_back(outputs_.at(name.substr(1)));
      seeds.push_back(Variable(case_.array(name), differentiable));
    }
  }

  const Variable& input(const std::string& name) const { return inputs_.at(name); }

 private:
  static Variables called(const Case& c, const Adapter& adapter, const Inputs& inputs) {
    Args args(signature_of("function", c.name()), c.json().at("args"), c.json().at("attrs"), inputs);
    Variables results = adapter(args);
    args.check_all_used();
    return results;
  }

  Variables replayed(const Adapter& adapter, detail::StaticGraphCache& graph) const {
    struct Callee {
      const Case& c;
      const Adapter& adapter;
    } callee{case_, adapter};
    const auto call = [](void* object, std::span<const Variable> given) {
      const auto& [c, function] = *static_cast<const Callee*>(object);
      const std::vector<std::string> names = c.names("inputs");
      Inputs inputs;
      for (size_t i = 0; i < names.size(); ++i) inputs[names[i]] = given[i];
      return called(c, function, inputs);
    };
    std::vector<Variable> inputs;
    for (const std::string& name : case_.names("inputs")) inputs.push_back(inputs_.at(name));
    return graph.call({call, &callee, nullptr}, inputs);
  }

  const Case& case_;
  Inputs inputs_;
  Inputs outputs_;
};

std::span<const Variable> span(const Variables& v) { return {v.data(), v.size()}; }
Array array_of(const Variable& v) { return v.is_defined() ? v.array() : Array(); }

void compare_first_order(const Case& c, const Variables& gx, const std::vector<std::string>& names, const char* how) {
  for (size_t i = 0; i < names.size(); ++i) {
    compare(names[i] + how, array_of(gx[i]), c.array(names[i]), c.tolerance(names[i]));
  }
}

// What training does: seeds in the outputs' grad, one backward through all of them.
void check_backward(const Case& c, const FunctionRun& run) {
  Variables outputs, seeds;
  run.seeds(false, outputs, seeds);
  const std::vector<std::string> names = c.names("grads");
  const bool has_leaf =
      std::any_of(outputs.begin(), outputs.end(), [](const Variable& y) { return y.creator() == nullptr; });
  Variables gx;
  if (has_leaf) {
    Variables inputs;
    for (const std::string& name : names) inputs.push_back(run.input(name.substr(1)));
    gx = grad(span(outputs), span(inputs), {.grad_outputs = span(seeds)});
  } else {
    for (size_t k = 0; k < outputs.size(); ++k) outputs[k].set_grad(seeds[k].array());
    backward(span(outputs));
    for (const std::string& name : names) gx.push_back(run.input(name.substr(1)).grad_var());
  }
  compare_first_order(c, gx, names, "");
  if (has_leaf) return;
  for (const std::string& name : c.names("grads_none")) {
    const std::string input = name[0] == 'g' ? name.substr(1) : name;
    compare_zero("g" + input, run.input(input).grad(), c.tolerance("g" + input));
  }
}

// First-order gradients as functions of the inputs and of gy, then their own gradients.
void check_double(const Case& c, const FunctionRun& run) {
  const Json& second = c.json().at("double");
  Variables outputs, seeds, inputs, ggx;
  run.seeds(true, outputs, seeds);
  const std::vector<std::string> names = c.names("grads");
  for (const std::string& name : names) inputs.push_back(run.input(name.substr(1)));
  const Variables gx = grad(span(outputs), span(inputs), {.grad_outputs = span(seeds), .enable_double_backprop = true});
  compare_first_order(c, gx, names, " (with double backprop)");

  Variables roots;
  const auto ggx_names = second.at("ggx").get<std::vector<std::string>>();
  for (size_t i = 0; i < gx.size(); ++i) {
    if (!gx[i].is_defined() || !gx[i].requires_grad()) continue;
    roots.push_back(gx[i]);
    ggx.push_back(Variable(c.array(ggx_names.at(i)), false));
  }
  const std::vector<std::string> gy_names = c.names("grad_outputs");
  const auto target = [&](const std::string& name) {  // "gx2_1": of x1; "ggy0": of gy0
    if (name.starts_with("gx2_")) return run.input("x" + name.substr(4));
    const auto at = std::find(gy_names.begin(), gy_names.end(), name.substr(1));
    if (at == gy_names.end()) throw std::runtime_error("the case has no " + name.substr(1));
    return seeds[static_cast<size_t>(at - gy_names.begin())];
  };
  const auto out = second.at("out").get<std::vector<std::string>>();
  const auto none =
      second.contains("none") ? second.at("none").get<std::vector<std::string>>() : std::vector<std::string>();
  Variables targets;
  for (const std::string& name : out) targets.push_back(target(name));
  for (const std::string& name : none) targets.push_back(target(name));
  Variables result(targets.size());
  if (!roots.empty() && !targets.empty()) result = grad(span(roots), span(targets), {.grad_outputs = span(ggx)});
  for (size_t i = 0; i < out.size(); ++i) {
    compare(out[i], array_of(result[i]), c.array(out[i]), c.tolerance(out[i]));
  }
  for (size_t i = 0; i < none.size(); ++i) {
    compare_zero(none[i], array_of(result[out.size() + i]), c.tolerance(none[i]));
  }
}

// Recorded once or, if something stays alive that might be state, twice; and replayed.
void check_replays(const Case& c, const Adapter& adapter) {
  if (c.json().contains("mutated")) throw Unsupported("a static graph does not write into its arguments");
  detail::StaticGraphCache graph({.name = c.name()}, typeid(FunctionRun));
  constexpr int kCalls = 4;
  for (int i = 0; i < kCalls; ++i) {
    try {
      const FunctionRun run(c, adapter, &graph);
      run.compare_outputs();
      if (!c.names("grad_outputs").empty()) check_backward(c, run);
    } catch (const StateError& e) {
      const std::string_view text = e.what();
      const auto says = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
      // The shape of a result is the number of true elements or of labels; a result is on the CPU whatever the device.
      if (!says("Array::to_vector: the host reads") && !says("Array::item inside F::" + c.name()) &&
          !says("a static graph has one device")) {
        throw;
      }
      throw Unsupported(e.what());
    }
  }
}

}  // namespace

void run_function(const Case& c) {
  const auto adapter = function_table().find(c.name());
  if (adapter == function_table().end()) throw Unsupported("function " + c.name());
  const auto train = using_config(&Config::train, c.json().at("train").get<bool>());
  if (c.is_replayed()) return check_replays(c, adapter->second);
  {
    const FunctionRun run(c, adapter->second);
    run.compare_outputs();
    run.compare_mutated();
    if (!c.names("grad_outputs").empty()) check_backward(c, run);
  }
  if (c.json().contains("double")) check_double(c, FunctionRun(c, adapter->second));
}

}  // namespace kusari::golden
