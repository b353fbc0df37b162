#include "kusari/framework/onnx/compile.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/onnx/weights.h"

namespace kusari::onnx {

namespace {

using Names = std::map<std::string, int64_t, std::less<>>;

constexpr int kMaxInlined = 64;          // functions within functions
constexpr int64_t kMaxFolded = 1 << 24;  // elements of a constant that is worked out at load
constexpr size_t kMaxSteps = 1000000;
constexpr size_t kMaxReported = 20;

/// What a function's body sees of its call.
struct CallSite {
  const read::Node* node;
  const read::Function* function;
  const CallSite* outer;
};

class GraphCompiler;

/// Names of values in one graph or function body.
struct Scope {
  std::map<std::string_view, int> values;
  GraphCompiler* outer_graph = nullptr;  ///< of a graph within another: what it may read of that
  Scope* outer = nullptr;
  const Names* opsets = nullptr;
  const CallSite* site = nullptr;
};

/// What all graphs of a model share.
struct Compilation {
  explicit Compilation(const read::TensorSource& of) : source{of} {}
  const read::TensorSource& source;
  std::vector<Constant> constants;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, const read::Function*> functions;
  std::vector<std::string> problems;
  std::map<std::string, int> unsupported;  // an operator and how often it comes
  size_t node_count = 0;
  size_t step_count = 0;
  int depth = 0;
};

class GraphCompiler {
 public:
  GraphCompiler(Compilation& all, GraphCompiler* outer) : all_{all}, outer_{outer} {}

  void compile(const read::Graph& graph, Scope& scope, const std::set<std::string_view>& trained) {
    if (graph.has_sparse_initializers) problem("sparse initializers are not supported");
    std::set<std::string_view> initialized;
    for (const read::Tensor& tensor : graph.initializers) {
      if (!initialized.insert(tensor.name).second)
        damaged("two initializers are named '" + std::string(tensor.name) + "'");
      at_place(all_.source.name, [&] {
        define(scope, tensor.name,
               constant({std::string(tensor.name), read::to_array(tensor, all_.source), trained.contains(tensor.name)},
                        tensor.type));
      });
    }
    for (const read::ValueInfo& input : graph.inputs) {
      if (outer_ == nullptr && initialized.contains(input.name)) continue;  // a default that cannot be replaced
      expect_array(input, "input");
      const int value = new_value();
      types_[value] = input.type;
      define(scope, input.name, value);
      graph_.inputs.push_back(value);
    }
    compile_nodes(graph.nodes, scope);
    for (const read::ValueInfo& output : graph.outputs) {
      const int value = resolve(output.name, scope);
      if (value < 0) damaged("nothing computes the output '" + std::string(output.name) + "'");
      expect_array(output, "output");
      graph_.outputs.push_back(value);
      Subgraph::Declared& declared = graph_.declared.emplace_back();
      declared.dtype = dtype_for(output.type);
      if (!output.shape) continue;
      for (const read::Dimension& dimension : *output.shape) {
        declared.shape.push_back(std::max<int64_t>(dimension.size.value_or(0), 0));
      }
    }
  }

  Subgraph finish() {
    graph_.value_count = value_count_;
    // A value is dropped after its last use.
    std::vector<bool> needed(static_cast<size_t>(value_count_));
    for (const int output : graph_.outputs) needed[static_cast<size_t>(output)] = true;
    for (auto step = graph_.steps.rbegin(); step != graph_.steps.rend(); ++step) {
      const auto drop = [&](int value) {
        if (value < 0 || needed[static_cast<size_t>(value)]) return;
        needed[static_cast<size_t>(value)] = true;
        step->last_used.push_back(value);
      };
      for (const int input : step->inputs) drop(input);
    }
    return std::move(graph_);
  }

  /// The number of a named value, -1 if there is none. Values of graphs around this one are captured.
  int resolve(std::string_view name, Scope& scope) {
    if (const auto found = scope.values.find(name); found != scope.values.end()) return found->second;
    if (scope.outer == nullptr) return -1;
    const int outer_value = scope.outer_graph->resolve(name, *scope.outer);
    if (outer_value < 0) return -1;
    const int value = capture(outer_value);
    scope.values.emplace(name, value);
    return value;
  }

 private:
  int new_value() { return value_count_++; }

  void define(Scope& scope, std::string_view name, int value) {
    if (name.empty()) return;
    if (!scope.values.emplace(name, value).second) damaged("two values are named '" + std::string(name) + "'");
  }

  int capture(int outer_value) {
    const auto [place, is_new] = captured_.emplace(outer_value, value_count_);
    if (is_new) {
      graph_.captures.push_back(new_value());
      graph_.outer_captures.push_back(outer_value);
      if (outer_ != nullptr) {
        if (const auto known = outer_->known_.find(outer_value); known != outer_->known_.end()) {
          known_.insert({place->second, known->second});
        }
        types_[place->second] = outer_->type_of(outer_value);
      }
    }
    return place->second;
  }

  /// The type that the file gives a value, undefined where only the dtype is left.
  DataType type_of(int value) const {
    const auto found = types_.find(value);
    return found != types_.end() ? found->second : DataType::undefined;
  }

  /// The value of a new constant, which the main graph captures and those within it from there.
  int constant(Constant made, DataType type) {
    if (outer_ != nullptr) return capture(outer_->constant(std::move(made), type));
    const int value = new_value();
    types_[value] = type;
    if (!made.is_parameter) known_.insert({value, made.numbers});
    graph_.captures.push_back(value);
    graph_.outer_captures.push_back(static_cast<int>(all_.constants.size()));
    all_.constants.push_back(std::move(made));
    return value;
  }

  [[noreturn]] void damaged(const std::string& what) const { throw IoError(all_.source.name + " is damaged: " + what); }
  void problem(const std::string& what) {
    if (all_.problems.size() < kMaxReported) all_.problems.push_back(what);
  }

  /// Lists live within a model: calls take and give variables.
  void expect_array(const read::ValueInfo& info, const std::string& what) {
    if (outer_ != nullptr || info.other.empty()) return;
    problem("the " + what + " '" + std::string(info.name) + "' is " + std::string(info.other) + ": " + what +
            "s must be arrays");
  }

  void compile_nodes(const std::vector<read::Node>& nodes, Scope& scope) {
    for (const read::Node& node : nodes) compile_node(node, scope);
  }

  static int64_t opset_of(std::string_view domain, const Scope& scope) {
    const auto found = scope.opsets->find(domain);
    return found != scope.opsets->end() ? found->second : 1;
  }

  std::string place_of(const read::Node& node, int64_t opset) const {
    const std::string name =
        node.name.empty() && !node.outputs.empty() ? std::string(node.outputs[0]) : std::string(node.name);
    const std::string domain = node.domain.empty() ? "" : ", domain '" + std::string(node.domain) + "'";
    return "node '" + name + "' (#" + std::to_string(all_.node_count) + "): " + std::string(node.op_type) + " (opset " +
           std::to_string(opset) + domain + ")";
  }

  void compile_node(const read::Node& plain, Scope& scope) {
    ++all_.node_count;
    const read::Node node = with_attributes_of_call(plain, scope.site);
    const auto function = all_.functions.find({node.domain, node.op_type, node.overload});
    if (function != all_.functions.end()) return inline_function(node, *function->second, scope);

    const int64_t opset = opset_of(node.domain, scope);
    Subgraph::Step step;
    step.place = place_of(node, opset);
    for (const std::string_view input : node.inputs) {
      const int value = input.empty() ? -1 : resolve(input, scope);
      if (value < 0 && !input.empty()) {
        damaged(step.place + " reads '" + std::string(input) + "', which nothing before it computes");
      }
      step.inputs.push_back(value);
    }
    if (++all_.step_count > kMaxSteps) damaged("it has more than 1000000 nodes, functions' nodes included");

    DataType type = DataType::undefined;  // of the results
    if (const Operator* const op = find_operator(node.domain, node.op_type)) {
      type = build(node, *op, opset, scope, step);
    } else {
      const std::string domain = node.domain.empty() ? "" : std::string(node.domain) + ".";
      ++all_.unsupported[domain + std::string(node.op_type)];
      problem(step.place + " is not supported");
    }
    if (step.run != nullptr && !step.is_random && !step.stays && fold(step, node, type, scope)) return;
    for (const std::string_view output : node.outputs) {
      const int value = output.empty() ? -1 : new_value();
      define(scope, output, value);
      if (value >= 0) types_[value] = type;
      step.outputs.push_back(value);
    }
    graph_.steps.push_back(std::move(step));
  }

  /// Gives the step its operation, and what the steps of its graphs ask of it. Returns the type of its results.
  DataType build(const read::Node& node, const Operator& op, int64_t opset, Scope& scope, Subgraph::Step& step) {
    const NodeReader::CompileGraph compile_graph = [&](const read::Graph& graph) {
      GraphCompiler inner(all_, this);
      Scope inner_scope;
      inner_scope.outer_graph = this;
      inner_scope.outer = &scope;
      inner_scope.opsets = scope.opsets;
      inner_scope.site = scope.site;
      inner.compile(graph, inner_scope, {});
      const auto compiled = std::make_shared<const Subgraph>(inner.finish());
      for (const Subgraph::Step& within : compiled->steps) {
        step.is_random = step.is_random || within.is_random;
        step.stays = step.stays || within.stays;
      }
      step.inputs.insert(step.inputs.end(), compiled->outer_captures.begin(), compiled->outer_captures.end());
      return compiled;
    };
    step.reads_shapes_only = op.reads_shapes_only;
    step.is_random = op.is_random;
    step.stays = op.stays;
    try {
      const NodeReader::DeclaredType declared = [&](std::string_view name) { return type_of(resolve(name, scope)); };
      const NodeReader reader(node, opset, all_.source, compile_graph, declared);
      step.run = op.build(reader);
      return result_type(reader);
    } catch (const ValueError& error) {
      problem(step.place + ": " + error.what());
    } catch (const TypeError& error) {
      problem(step.place + ": " + error.what());
    }
    return DataType::undefined;
  }

  /// Works the node out now if all it reads is constant. One that fails stays: its branch may never be taken.
  bool fold(const Subgraph::Step& step, const read::Node& node, DataType type, Scope& scope) {
    Values inputs;
    for (const int input : step.inputs) {
      const auto known = known_.find(input);
      if (input >= 0 && known == known_.end()) return false;
      inputs.push_back(input >= 0 ? Value::on_host(known->second) : Value());
    }
    Subgraph alone;
    alone.steps.push_back(step);
    Subgraph::Step& only = alone.steps[0];
    for (size_t i = 0; i < only.inputs.size(); ++i) {
      alone.inputs.push_back(static_cast<int>(i));
      only.inputs[i] = inputs[i].is_given() ? static_cast<int>(i) : -1;
    }
    alone.value_count = static_cast<int>(inputs.size());
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      only.outputs.push_back(alone.value_count);
      alone.outputs.push_back(alone.value_count++);
    }
    Values results;
    try {
      results = alone.run(inputs, {}, Device());
    } catch (const Error&) {
      return false;
    }
    for (size_t i = 0; i < results.size(); ++i) {
      if (!node.outputs[i].empty() && (!results[i].is_on_host() || results[i].host.size() > kMaxFolded)) return false;
    }
    for (size_t i = 0; i < results.size(); ++i) {
      if (!node.outputs[i].empty()) {
        define(scope, node.outputs[i], constant({std::string(node.outputs[i]), results[i].host, false}, type));
      }
    }
    return true;
  }

  /// A copy of a node in a function's body in which attributes of the call stand where the body refers to them.
  static read::Node with_attributes_of_call(const read::Node& node, const CallSite* site) {
    read::Node result = node;
    if (site == nullptr) return result;
    std::vector<read::Attribute> attributes;
    for (const read::Attribute& attribute : node.attributes) {
      if (attribute.reference.empty()) {
        attributes.push_back(attribute);
        continue;
      }
      const auto named = [&](const read::Attribute& other) { return other.name == attribute.reference; };
      const auto& given = site->node->attributes;
      const auto& defaults = site->function->attributes;
      const read::Attribute* found = nullptr;
      if (const auto at = std::find_if(given.begin(), given.end(), named); at != given.end()) {
        found = &*at;
      } else if (const auto standard = std::find_if(defaults.begin(), defaults.end(), named);
                 standard != defaults.end()) {
        found = &*standard;
      }
      if (found == nullptr) continue;  // the operator's own default
      attributes.push_back(*found);
      attributes.back().name = attribute.name;
    }
    result.attributes = std::move(attributes);
    return result;
  }

  void inline_function(const read::Node& node, const read::Function& function, Scope& scope) {
    if (++all_.depth > kMaxInlined) damaged("functions call each other more than 64 deep");
    const CallSite site{&node, &function, scope.site};
    Scope body;
    body.opsets = &function.opsets;
    body.site = &site;
    for (size_t i = 0; i < function.inputs.size(); ++i) {
      if (i >= node.inputs.size() || node.inputs[i].empty()) {
        define(body, function.inputs[i], absent());
        continue;
      }
      const int value = resolve(node.inputs[i], scope);
      if (value < 0)
        damaged(std::string(node.op_type) + " reads '" + std::string(node.inputs[i]) +
                "', which nothing before it computes");
      define(body, function.inputs[i], value);
    }
    compile_nodes(function.nodes, body);
    for (size_t i = 0; i < std::min(function.outputs.size(), node.outputs.size()); ++i) {
      const int value = resolve(function.outputs[i], body);
      if (value < 0)
        damaged("the function " + std::string(function.name) + " does not compute its output '" +
                std::string(function.outputs[i]) + "'");
      define(scope, node.outputs[i], value);
    }
    --all_.depth;
  }

  /// A value that nothing sets: an input that a call of a function leaves out.
  int absent() {
    if (absent_ < 0) absent_ = new_value();
    return absent_;
  }

  Compilation& all_;
  GraphCompiler* outer_;
  Subgraph graph_;
  int value_count_ = 0;
  int absent_ = -1;
  std::map<int, int> captured_;    // from values of the graph around this one
  std::map<int, Array> known_;     // values that are constants
  std::map<int, DataType> types_;  // what the file says of values
};

/// Most constants served only to work others out.
void keep_used(Subgraph& graph, std::vector<Constant>& all, std::vector<Constant>& used) {
  std::set<int> needed(graph.outputs.begin(), graph.outputs.end());
  for (const Subgraph::Step& step : graph.steps) needed.insert(step.inputs.begin(), step.inputs.end());
  std::vector<int> captures;
  for (size_t i = 0; i < graph.captures.size(); ++i) {
    if (!needed.contains(graph.captures[i])) continue;
    captures.push_back(graph.captures[i]);
    used.push_back(std::move(all[static_cast<size_t>(graph.outer_captures[i])]));
  }
  graph.captures = std::move(captures);
  graph.outer_captures.clear();
}

}  // namespace

CompiledModel compile_model(const read::Model& model, const read::TensorSource& source) {
  Compilation all(source);
  for (const read::Function& function : model.functions) {
    all.functions.emplace(std::tuple(function.domain == "ai.onnx" ? std::string_view() : function.domain, function.name,
                                     function.overload),
                          &function);
  }
  Scope scope;
  scope.opsets = &model.opsets;
  GraphCompiler compiler(all, nullptr);
  compiler.compile(model.graph, scope, trained_initializers(model));
  if (!all.problems.empty()) {
    std::string text = source.name + ": ";
    for (size_t i = 0; i < all.problems.size(); ++i) text += (i > 0 ? "; " : "") + all.problems[i];
    if (!all.unsupported.empty()) {
      text += ". In all, operators that are not supported: ";
      bool first = true;
      for (const auto& [name, count] : all.unsupported) {
        text += (first ? "" : ", ") + name + " (" + std::to_string(count) + ")";
        first = false;
      }
    }
    throw ValueError(text);
  }
  CompiledModel result;
  result.graph = compiler.finish();
  keep_used(result.graph, all.constants, result.constants);
  return result;
}

}  // namespace kusari::onnx
