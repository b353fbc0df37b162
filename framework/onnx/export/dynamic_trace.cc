#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/onnx/export/trace.h"

// Several traces of a model, with inputs of other sizes, compared.
namespace kusari::onnx::exporting {
namespace {

bool same_elements(const Array& a, const Array& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  if (key_of(a) == key_of(b)) return true;
  const Array x = a.to_device(Device()).contiguous(), y = b.to_device(Device()).contiguous();
  return x.nbytes() == 0 || std::memcmp(x.raw_data(), y.raw_data(), static_cast<size_t>(x.nbytes())) == 0;
}

bool same_value(const Attributes::Value& a, const Attributes::Value& b) {
  if (a.index() != b.index()) return false;
  if (const Array* const array = std::get_if<Array>(&a)) {
    const Array& other = std::get<Array>(b);
    if (!array->is_defined() || !other.is_defined()) return array->is_defined() == other.is_defined();
    return same_elements(*array, other);
  }
  return std::visit(
      [&]<class T>(const T& value) {
        if constexpr (std::is_same_v<T, Array>) {
          return false;
        } else {
          return value == std::get<T>(b);
        }
      },
      a);
}

class Comparison {
 public:
  /// Notes in `trace` what differs in `other`, its trace number `number`.
  Comparison(Trace& trace, const Trace& other, size_t number) : trace_{trace}, number_{number} {
    compare_calls(trace.calls, other.calls);
    compare_calls(trace.constant_calls, other.constant_calls);
    if (trace.values.size() != other.values.size()) refuse("as many values", "others");
    for (size_t i = 0; i < trace.values.size(); ++i) {
      Value& value = trace.values[i];
      const Array& array = other.values[i].array;
      if (value.array.ndim() != array.ndim()) refuse(to_string(value.array.shape()), to_string(array.shape()));
      value.elsewhere.push_back(array.shape());
      if (value.kind != Value::Kind::constant) continue;
      const bool is_same = same_elements(value.array, array);
      if (!is_same && !value.varies) value.numbers.assign(number_ - 1, value.array);
      value.varies = value.varies || !is_same;
      if (value.varies) value.numbers.push_back(is_same ? value.array : array);
    }
  }

 private:
  void compare_calls(std::vector<Call>& calls, const std::vector<Call>& others) const {
    const auto name = [](const Call& call) { return "F::" + call.function + " (" + call.place() + ")"; };
    for (size_t i = 0; i < std::max(calls.size(), others.size()); ++i) {
      if (i >= calls.size()) refuse("nothing", name(others[i]));
      if (i >= others.size()) refuse(name(calls[i]), "nothing");
      Call& a = calls[i];
      const Call& b = others[i];
      if (a.function != b.function || a.inputs != b.inputs || a.outputs != b.outputs) refuse(name(a), name(b));
      for (const auto& [option, value] : a.options) {
        const Attributes::Value* const there = b.options.find(option);
        if (there == nullptr || !same_value(value, *there)) a.changing.insert(option);
      }
      a.elsewhere.push_back(b.options);
    }
  }
  [[noreturn]] void refuse(const std::string& here, const std::string& there) const {
    const DynamicSizes& sizes = trace_.dynamic;
    throw ValueError("onnx: " + sizes.option + ": the model applies " + here + " with " + sizes.text(0) + " and " +
                     there + " with " + sizes.text(number_) + ": its structure depends on the size");
  }

  Trace& trace_;
  size_t number_;
};

// Calls whose results are others with other sizes are calls of the graph, though they depend on no argument: a table of
// places cut to the length of a text.
void promote_calls(Trace& trace) {
  for (Call& call : trace.constant_calls) {
    const auto varies = [&](int id) { return trace.values[static_cast<size_t>(id)].varies; };
    if (std::none_of(call.outputs.begin(), call.outputs.end(), varies)) continue;
    for (const int id : call.outputs) {
      Value& value = trace.values[static_cast<size_t>(id)];
      value.kind = Value::Kind::computed;
      value.label = call.function;
      value.broadcast_of = kAbsent;
    }
    trace.calls.push_back(std::move(call));
  }
  std::stable_sort(trace.calls.begin(), trace.calls.end(),
                   [](const Call& a, const Call& b) { return a.number < b.number; });
}

constexpr int64_t kMostElements = int64_t{1} << 22;  // of inputs that are made larger: a trace keeps all its values

int64_t elements_of(const std::vector<Variable>& xs) {
  int64_t all = 0;
  for (const Variable& x : xs) all += x.size();
  return all;
}

Trace traced(const detail::ModelCall& call, Link* link, std::span<const Variable> inputs, const ExportOptions& options,
             DynamicSizes dynamic) {
  const size_t count = dynamic.by_trace.size();
  const auto one = [&](size_t number) {
    const std::vector<Variable> xs = dynamic.inputs(inputs, number);
    return trace(call, link, {xs.data(), xs.size()}, options.train);
  };
  Trace result = one(0);
  result.dynamic = dynamic;
  for (size_t number = 1; number < count; ++number) Comparison(result, one(number), number);
  promote_calls(result);
  return result;
}

}  // namespace

Trace trace(const detail::ModelCall& call, Link* link, std::span<const Variable> inputs, const ExportOptions& options) {
  DynamicSizes dynamic{
      options.dynamic_axes.empty() ? "dynamic_batch" : "dynamic_axes", named_sizes(inputs, options), {}};
  if (dynamic.symbols.empty()) return trace(call, link, inputs, options.train);
  // At least two: an axis of size 1 would broadcast where others do not.
  std::vector<int64_t> given, less, up, down, half, more, twice;
  bool is_given = true;
  for (const Symbol& symbol : dynamic.symbols) {
    const auto [input, axis] = symbol.places.front();
    const int64_t size = inputs[input].shape()[axis];
    const bool is_batch = symbol.name == "batch", may_shrink = !is_batch && size >= 4;
    is_given = is_given && size >= 2;
    given.push_back(std::max<int64_t>(size, 2));
    less.push_back(given.back() - (may_shrink ? 1 : 0));
    up.push_back(1);
    down.push_back(may_shrink ? -1 : 1);
    more.push_back(given.back() + 3);
    half.push_back(may_shrink ? (size + 1) / 2 : given.back() + 2);
    twice.push_back(is_batch ? given.back() : 2 * given.back());
  }
  if (link != nullptr && !is_given) static_cast<void>(trace(call, link, inputs, options.train));  // infers sizes
  // A size may have a greatest value, as that of a table of places, or a least one, as that of a window.
  struct Way {
    std::vector<int64_t> first, steps;
    std::vector<std::vector<int64_t>> others;
  };
  std::vector<Way> ways = {{given, up, {half}}, {given, up, {more}}, {less, down, {half}}};
  dynamic.by_trace = {twice};
  if (twice != given && elements_of(dynamic.inputs(inputs, 0)) <= kMostElements) {
    ways.insert(ways.begin(), {{given, up, {half, twice}}, {given, up, {more, twice}}});
  }
  std::exception_ptr first;
  for (const Way& way : ways) {
    dynamic.by_trace = sizes_by_trace(way.first, way.steps, way.others);
    try {
      return traced(call, link, inputs, options, dynamic);
    } catch (const Error&) {
      if (!first) first = std::current_exception();
    }
  }
  std::rethrow_exception(first);
}

}  // namespace kusari::onnx::exporting
