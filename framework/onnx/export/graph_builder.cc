#include "kusari/framework/onnx/export/graph_builder.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <unordered_set>

#include "kusari/framework/core/error.h"

namespace kusari::onnx::exporting {
namespace {

struct Registered {
  std::mutex mutex;
  ConverterTable table;
};
Registered& registered() {
  static Registered converters;
  return converters;
}

const ConverterTable& built_in() {
  static const ConverterTable table = [] {
    ConverterTable all;
    add_activation_converters(all);
    add_array_converters(all);
    add_array_operation_converters(all);
    add_index_converters(all);
    add_attention_converters(all);
    add_connection_converters(all);
    add_loss_converters(all);
    add_math_converters(all);
    add_normalization_converters(all);
    add_pooling_converters(all);
    add_quantization_converters(all);
    add_recurrent_converters(all);
    return all;
  }();
  return table;
}

constexpr int64_t kSmall = 64;  // bytes; constants below are shared by their numbers

std::vector<std::string> default_names(const std::vector<std::string>& given, size_t count, const char* what) {
  if (!given.empty() && given.size() != count) {
    throw ValueError(std::string("onnx::export_model: ") + what + "_names has " + std::to_string(given.size()) +
                     " names: the model has " + std::to_string(count) + " " + what + "s");
  }
  std::vector<std::string> names = given;
  for (size_t i = names.size(); i < count; ++i) names.push_back(std::string(what) + "_" + std::to_string(i));
  return names;
}

// A call of onnx::function.
void write_custom(const NodeWriter& w, const std::string& op) {
  const size_t dot = op.rfind('.');
  const std::string domain = dot == std::string::npos ? "" : op.substr(0, dot);
  w.op(dot == std::string::npos ? op : op.substr(dot + 1), w.options(), domain);
}

}  // namespace

std::string tensor_name(const std::string& path) {
  std::string name = path.starts_with("/") ? path.substr(1) : path;
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

Converter find_converter(const std::string& function) {
  {
    Registered& own = registered();
    const std::lock_guard<std::mutex> lock(own.mutex);
    if (const auto found = own.table.find(function); found != own.table.end()) return found->second;
  }
  const auto found = built_in().find(function);
  return found == built_in().end() ? Converter() : found->second;
}

GraphBuilder::GraphBuilder(const Trace& trace, const ExportOptions& options, std::map<ArrayKey, std::string> paths)
    : trace_{trace}, options_{options}, paths_{std::move(paths)}, names_(trace.values.size()) {
  input_names_ = default_names(options.input_names, trace.arguments.size(), "input");
  output_names_ = default_names(options.output_names, trace.results.size(), "output");
  for (const auto* list : {&input_names_, &output_names_}) {
    for (const std::string& name : *list) {
      if (name.empty() || taken_.contains(name)) {
        throw ValueError("onnx::export_model: '" + name + "' is the name of two inputs or outputs, or empty");
      }
      taken_[name] = 1;
    }
  }
  check_axes_of_outputs();
  for (size_t i = 0; i < trace.arguments.size(); ++i) {
    names_[static_cast<size_t>(trace.arguments[i])] = input_names_[i];
  }
  for (size_t i = 0; i < trace.results.size(); ++i) {
    std::string& name = names_[static_cast<size_t>(trace.results[i])];
    if (name.empty() && value(trace.results[i]).kind == Value::Kind::computed) name = output_names_[i];
  }
}

std::string GraphBuilder::fresh(const std::string& base) {
  int& count = taken_[base];
  if (count++ == 0) return base;
  for (;;) {
    std::string name = base + "_" + std::to_string(count - 1);
    if (taken_.emplace(name, 1).second) return name;
    ++count;
  }
}

const std::string& GraphBuilder::name_of(int id) {
  std::string& name = names_[static_cast<size_t>(id)];
  if (!name.empty()) return name;
  const Value& v = value(id);
  if (v.kind != Value::Kind::constant) return name = fresh(v.label);
  if (v.varies) {
    return names_[static_cast<size_t>(id)] = changing_constant(id);
  }
  const auto path = paths_.find(key_of(v.array));
  std::string base = "constant";
  if (path != paths_.end()) {
    base = tensor_name(path->second);
  } else if (v.label.starts_with("~")) {
    const size_t dot = v.label.find('.');
    const int source = std::stoi(v.label.substr(1, dot - 1));
    if (const auto known = paths_.find(key_of(value(source).array)); known != paths_.end()) {
      base = tensor_name(known->second) + v.label.substr(dot);
    }
  } else if (v.array.nbytes() <= kSmall) {
    return names_[static_cast<size_t>(id)] = constant(v.array);
  }
  std::string fresh_name = fresh(base);
  initializers_.push_back({fresh_name, v.array, path != paths_.end() ? path->second : ""});
  return names_[static_cast<size_t>(id)] = fresh_name;
}

int GraphBuilder::before_broadcast(int id) const {
  if (const auto found = broadcast_.find(id); found != broadcast_.end()) return found->second;
  const int source = value(id).broadcast_of;
  return source == kAbsent ? id : before_broadcast(source);
}

std::string GraphBuilder::constant(const Array& array) {
  const Array host = array.to_device(Device()).contiguous();
  if (host.nbytes() <= kSmall) {
    std::string key = std::string(name(host.dtype())) + to_string(host.shape()) + ":";
    key.append(static_cast<const char*>(host.raw_data()), static_cast<size_t>(host.nbytes()));
    std::string& known = small_constants_[key];
    if (known.empty()) {
      known = fresh("constant");
      initializers_.push_back({known, host});
    }
    return known;
  }
  held_.push_back(array);  // so that its key stays its own
  std::string& known = constants_[key_of(array)];
  if (known.empty()) {
    const auto path = paths_.find(key_of(array));
    known = fresh(path != paths_.end() ? tensor_name(path->second) : "constant");
    initializers_.push_back({known, array, path != paths_.end() ? path->second : ""});
  }
  return known;
}

std::string GraphBuilder::integers(const std::vector<int64_t>& numbers) {
  return constant(from_host(numbers.data(), {static_cast<int64_t>(numbers.size())}, Dtype::int64));
}

std::string GraphBuilder::reshape_target(int from, int to) {
  const Value &x = value(from), &y = value(to);
  if (!y.is_dynamic()) return integers({y.array.shape().begin(), y.array.shape().end()});
  std::vector<int64_t> target;
  bool has_inferred = false;
  for (int axis = 0; axis < y.array.ndim(); ++axis) {
    if (!y.is_dynamic(axis)) {
      if (y.array.shape()[axis] == 0) return shape_of(to);  // where 0 would copy
      target.push_back(y.array.shape()[axis]);
    } else if (axis < x.array.ndim() && x.sizes(axis) == y.sizes(axis)) {
      target.push_back(0);
    } else if (!has_inferred) {
      target.push_back(-1);
      has_inferred = true;
    } else {
      return shape_of(to);
    }
  }
  return integers(target);
}

void GraphBuilder::add(GraphNode node, const std::string& link) {
  node.name = fresh(link + "/" + node.type);
  nodes_.push_back(std::move(node));
}

void GraphBuilder::build() {
  std::vector<std::string> missing, others;
  std::set<std::string> missing_functions;
  for (const Call& call : trace_.calls) {
    const NodeWriter writer(*this, call);
    const size_t before = nodes_.size();
    first_unknown_ = call.outputs.front();
    try {
      if (call.op) {
        write_custom(writer, *call.op);
      } else if (const Converter converter = find_converter(call.function)) {
        converter(writer);
      } else if (missing_functions.insert(call.function).second) {
        missing.push_back("F::" + call.function + " has no ONNX operator (" + call.place() + ")");
      }
      if (call.function == "broadcast_to") broadcast_[call.outputs[0]] = before_broadcast(call.inputs[0]);
    } catch (const Error& error) {
      others.push_back("F::" + call.function + " (" + call.place() + "): " + error.what());
      nodes_.resize(before);
    }
  }
  std::string text;
  for (const std::string& one : others) text += (text.empty() ? "" : "; ") + one;
  for (const std::string& one : missing) text += (text.empty() ? "" : "; ") + one;
  if (!missing.empty()) text += "; register_converter can add one";
  if (!text.empty()) throw ValueError("onnx: " + text);
  // Results that are arguments, constants, or given twice.
  for (size_t i = 0; i < trace_.results.size(); ++i) {
    const std::string name = name_of(trace_.results[i]);
    if (name != output_names_[i]) add({"Identity", "", "", {name}, {output_names_[i]}, {}}, "");
  }
}

std::unordered_map<std::string, bool> GraphBuilder::needed_names() const {
  std::unordered_map<std::string, bool> needed;
  for (const std::string& name : output_names_) needed[name] = true;
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    const bool is_needed = std::any_of(node->outputs.begin(), node->outputs.end(),
                                       [&](const std::string& name) { return needed.contains(name); });
    if (!is_needed) continue;
    needed["\n" + node->name] = true;
    for (const std::string& name : node->inputs) needed[name] = true;
  }
  return needed;
}

std::vector<GraphNode> GraphBuilder::nodes() const {
  const auto needed = needed_names();
  std::vector<GraphNode> result;
  for (const GraphNode& node : nodes_) {
    if (needed.contains("\n" + node.name)) result.push_back(node);
  }
  return result;
}

std::vector<Initializer> GraphBuilder::initializers() const {
  const auto needed = needed_names();
  std::vector<Initializer> result;
  for (const Initializer& one : initializers_) {
    if (needed.contains(one.name)) result.push_back(one);
  }
  return result;
}

void GraphBuilder::check_axes_of_outputs() const {
  for (const auto& [port, axes] : options_.dynamic_axes) {
    if (std::find(input_names_.begin(), input_names_.end(), port) != input_names_.end()) continue;
    const std::string call = "onnx::export_model: dynamic_axes: ";
    const auto found = std::find(output_names_.begin(), output_names_.end(), port);
    if (found == output_names_.end()) throw ValueError(call + "'" + port + "' is neither an input nor an output");
    const Shape& shape = value(trace_.results[static_cast<size_t>(found - output_names_.begin())]).array.shape();
    for (const auto& [axis, name] : axes) {
      const std::string what = call + "axis " + std::to_string(axis) + " of output '" + port + "'";
      if (axis < -shape.ndim() || axis >= shape.ndim()) {
        throw ValueError(what + " is not there: it has shape " + to_string(shape));
      }
      if (name.empty()) throw ValueError(what + " has an empty name");
    }
  }
}

std::string GraphBuilder::axis_name(const std::string& port, int axis, int ndim, const Sizes& sizes) const {
  if (const auto named = options_.dynamic_axes.find(port); named != options_.dynamic_axes.end()) {
    for (const int given : {axis, axis - ndim}) {
      if (const auto name = named->second.find(given); name != named->second.end()) return name->second;
    }
  }
  const int symbol = trace_.dynamic.symbol_of(sizes);
  if (symbol >= 0) return trace_.dynamic.symbols[static_cast<size_t>(symbol)].name;
  return port + "_" + std::to_string(axis);
}

std::vector<Port> GraphBuilder::ports(const std::vector<int>& ids, const std::vector<std::string>& names) const {
  std::vector<Port> result;
  for (size_t i = 0; i < ids.size(); ++i) {
    const Value& v = value(ids[i]);
    Port port{names[i], v.array.dtype(), v.array.shape(), {}};
    for (int axis = 0; axis < v.array.ndim(); ++axis) {
      port.symbols.push_back(v.is_dynamic(axis) ? axis_name(port.name, axis, v.array.ndim(), v.sizes(axis)) : "");
    }
    result.push_back(std::move(port));
  }
  return result;
}

std::vector<Port> GraphBuilder::inputs() const { return ports(trace_.arguments, input_names_); }
std::vector<Port> GraphBuilder::outputs() const { return outputs_ ? *outputs_ : ports(trace_.results, output_names_); }

void GraphBuilder::set_outputs(std::vector<Port> outputs) {
  output_names_.clear();
  for (const Port& port : outputs) output_names_.push_back(port.name);
  outputs_ = std::move(outputs);
}

std::vector<std::string> GraphBuilder::domains() const {
  std::set<std::string> all;
  for (const GraphNode& node : nodes()) all.insert(node.domain);
  all.erase("");
  return {all.begin(), all.end()};
}

}  // namespace kusari::onnx::exporting

namespace kusari::onnx {

void register_converter(const std::string& function, Converter converter) {
  if (!converter) throw ValueError("onnx::register_converter: the converter of '" + function + "' is empty");
  auto& own = exporting::registered();
  const std::lock_guard<std::mutex> lock(own.mutex);
  own.table.insert_or_assign(function, std::move(converter));
}

}  // namespace kusari::onnx
