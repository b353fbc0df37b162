#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/onnx/export/trace.h"

// Several traces of a model, with inputs of other sizes, compared.
namespace kusari::onnx::exporting {

bool same_elements(const Array& a, const Array& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  if (key_of(a) == key_of(b)) return true;
  const Array x = a.to_device(Device()).contiguous(), y = b.to_device(Device()).contiguous();
  return x.nbytes() == 0 || std::memcmp(x.raw_data(), y.raw_data(), static_cast<size_t>(x.nbytes())) == 0;
}

namespace {

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

// Functions that are not applied where they would change nothing: slices of all, broadcasts to the same shape.
bool may_change_nothing(const Call& call) {
  constexpr std::string_view kNames[] = {"get_item", "broadcast_to", "reshape", "sum_to", "concat", "pad", "copy"};
  return std::find(std::begin(kNames), std::end(kNames), call.function) != std::end(kNames);
}

// Another trace has other calls: the model's structure depends on the size.
struct OtherStructure : ValueError {
  using ValueError::ValueError;
  bool is_first_special = false, is_other_special = false;  // at most by calls that change nothing there

  // Whether the functions are the same but for such.
  bool compare(const std::vector<Call>& calls, const std::vector<Call>& others) {
    size_t i = 0, j = 0;
    while (i < calls.size() || j < others.size()) {
      if (i < calls.size() && j < others.size() && calls[i].function == others[j].function) {
        ++i;
        ++j;
      } else if (i < calls.size() && may_change_nothing(calls[i])) {
        is_other_special = true;
        ++i;
      } else if (j < others.size() && may_change_nothing(others[j])) {
        is_first_special = true;
        ++j;
      } else {
        return false;
      }
    }
    return true;
  }
};

// One more trace beside the first one.
class Comparison {
 public:
  /// `number`: of the other trace. Throws OtherStructure.
  Comparison(Trace& trace, const Trace& other, size_t number) : trace_{trace}, other_{other}, number_{number} {
    compare_calls(trace.calls, other.calls);
    compare_calls(trace.constant_calls, other.constant_calls);
    if (trace.values.size() != other.values.size()) refuse("as many values", "others");
    for (size_t i = 0; i < trace.values.size(); ++i) {
      const Array &here = trace.values[i].array, &there = other.values[i].array;
      if (here.ndim() != there.ndim()) refuse(to_string(here.shape()), to_string(there.shape()));
    }
    if (trace.results != other.results) refuse("its results in one way", "in another one");
  }

  /// Notes in the first trace what differs.
  void note() const {
    note_calls(trace_.calls, other_.calls);
    note_calls(trace_.constant_calls, other_.constant_calls);
    for (size_t i = 0; i < trace_.values.size(); ++i) {
      Value& value = trace_.values[i];
      const Array& array = other_.values[i].array;
      value.elsewhere.push_back(array.shape());
      if (value.kind != Value::Kind::constant) continue;
      const bool is_same = same_elements(value.array, array);
      if (!is_same && !value.varies) value.numbers.assign(number_ - 1, value.array);
      value.varies = value.varies || !is_same;
      if (value.varies) value.numbers.push_back(is_same ? value.array : array);
    }
  }

 private:
  void compare_calls(const std::vector<Call>& calls, const std::vector<Call>& others) const {
    const auto name = [](const Call& call) { return "F::" + call.function + " (" + call.place() + ")"; };
    for (size_t i = 0; i < std::max(calls.size(), others.size()); ++i) {
      if (i >= calls.size()) refuse("nothing", name(others[i]));
      if (i >= others.size()) refuse(name(calls[i]), "nothing");
      const Call &a = calls[i], &b = others[i];
      if (a.function != b.function || a.inputs != b.inputs || a.outputs != b.outputs) refuse(name(a), name(b));
    }
  }
  static void note_calls(std::vector<Call>& calls, const std::vector<Call>& others) {
    for (size_t i = 0; i < calls.size(); ++i) {
      Call& a = calls[i];
      const Attributes& there = others[i].options;
      for (const auto& [option, value] : a.options) {
        const Attributes::Value* const other = there.find(option);
        if (other == nullptr || !same_value(value, *other)) a.changing.insert(option);
      }
      for (const auto& [option, value] : there) {
        if (!a.options.has(option)) a.changing.insert(option);
      }
      a.elsewhere.push_back(there);
    }
  }

  [[noreturn]] void refuse(const std::string& here, const std::string& there) const {
    const DynamicSizes& sizes = trace_.dynamic;
    OtherStructure error("onnx: " + sizes.option + ": the model applies " + here + " with " + sizes.text(0) + " and " +
                         there + " with " + sizes.text(number_) + ": its structure depends on the size");
    if (!error.compare(trace_.calls, other_.calls) || !error.compare(trace_.constant_calls, other_.constant_calls)) {
      error.is_first_special = error.is_other_special = false;
    }
    throw error;
  }

  Trace& trace_;
  const Trace& other_;
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

// One way to choose sizes: those of the corners, and what else is tried.
struct Way {
  std::vector<int64_t> first, steps;
};

// The sizes with which a model is called.
class Sampling {
 public:
  using Sizes = std::vector<int64_t>;  // by symbol

  Sampling(const DynamicSizes& dynamic, std::span<const Variable> inputs) {
    for (const Symbol& symbol : dynamic.symbols) {
      const auto [input, axis] = symbol.places.front();
      const int64_t size = inputs[input].shape()[axis];
      is_given_ = is_given_ && size >= 2;
      given_.push_back(std::max<int64_t>(size, 2));  // an axis of size 1 would broadcast where others do not
      is_batch_.push_back(symbol.name == "batch");
    }
  }
  /// Whether the model can be called with the inputs as they are.
  bool is_given() const { return is_given_; }

  /// Each size may be one more, or, where there is a greatest one, as that of a table of places, one less. A model that
  /// halves its images wants sizes that can be halved.
  std::vector<Way> ways() const {
    const Sizes ones(given_.size(), 1);
    std::vector<Way> all{{given_, ones}};
    all.push_back({each([&](size_t i) { return given_[i] - (may_shrink(i) ? 1 : 0); }),
                   each([&](size_t i) { return may_shrink(i) ? -1 : 1; })});
    for (int64_t step = 2; step <= 64; step *= 2) {
      all.push_back({given_, each([&](size_t i) { return is_batch_[i] ? 1 : step; })});
    }
    all.push_back({twice(), ones});  // where maps of 1 x 1 get larger
    return all;
  }

  /// What is tried beside the corners: of each the first that the model takes. All symbols at once larger and smaller;
  /// each by itself, so that what is the same in two axes is told apart; and sizes beside powers of two, where halves
  /// that are rounded up differ from those that are rounded down, of every symbol another one.
  std::vector<std::vector<Sizes>> others(const Way& way) const {
    const Sizes half = each([&](size_t i) { return may_shrink(i) ? (given_[i] + 1) / 2 : given_[i] + 2; });
    const Sizes more = each([&](size_t i) { return given_[i] + 3 * std::abs(way.steps[i]); });
    std::vector<std::vector<Sizes>> all{{twice()}, {half, more}};
    for (size_t i = 0; i < given_.size() && given_.size() > 1; ++i) {
      const auto alone = [&](int64_t size) { return each([&](size_t k) { return k == i ? size : given_[k]; }); };
      all.push_back({alone(half[i]), alone(2 * given_[i]), alone(more[i])});
    }
    for (size_t k = 0; k < 4; ++k) {
      all.push_back({beside_powers(way, k, true), beside_powers(way, k, false)});
    }
    return all;
  }

 private:
  template <class Size>
  Sizes each(const Size& size) const {
    Sizes all;
    for (size_t i = 0; i < given_.size(); ++i) all.push_back(size(i));
    return all;
  }
  bool may_shrink(size_t i) const { return !is_batch_[i] && given_[i] >= 4; }
  Sizes twice() const {
    return each([&](size_t i) { return is_batch_[i] ? given_[i] : 2 * given_[i]; });
  }
  Sizes beside_powers(const Way& way, size_t k, bool is_above) const {
    constexpr int64_t kOffsets[] = {-1, 1, 0, -2}, kSteps[] = {3, 1, 2, 5};
    return each([&](size_t i) {
      const int64_t size = given_[i], place = static_cast<int64_t>((k + i) % 4);
      if (is_batch_[i]) return size + place;
      if (std::abs(way.steps[i]) > 1) {
        return std::max<int64_t>(size + (is_above ? 1 : -1) * kSteps[place] * way.steps[i], 2);
      }
      int64_t power = 2;
      while (power < 64 && 2 * power <= size) power *= 2;
      const int64_t multiple = (size + power - 1) / power * power - (is_above ? 0 : power);
      return std::max<int64_t>(multiple + kOffsets[place], 2);
    });
  }

  Sizes given_;
  std::vector<bool> is_batch_;
  bool is_given_ = true;
};

Trace traced(const detail::ModelCall& call, Link* link, std::span<const Variable> inputs, const ExportOptions& options,
             const DynamicSizes& symbols, const Sampling& sampling, const Way& way) {
  DynamicSizes dynamic = symbols;
  dynamic.by_trace = corner_sizes(way.first, way.steps);
  const size_t corners = dynamic.by_trace.size();
  const auto one = [&](size_t number) {
    const std::vector<Variable> xs = dynamic.inputs(inputs, number);
    return trace(call, link, {xs.data(), xs.size()}, options.train);
  };
  Trace result = one(0);
  result.dynamic = dynamic;
  for (size_t number = 1; number < corners; ++number) {
    const Trace other = one(number);
    Comparison(result, other, number).note();
  }
  const int64_t most = std::max(kMostElements, 2 * elements_of({inputs.begin(), inputs.end()}));
  const auto take = [&](const std::vector<int64_t>& sizes) {
    const size_t number = dynamic.by_trace.size();
    if (std::find(dynamic.by_trace.begin(), dynamic.by_trace.end(), sizes) != dynamic.by_trace.end()) return true;
    dynamic.by_trace.push_back(sizes);
    result.dynamic = dynamic;
    std::optional<Trace> other;
    try {
      if (elements_of(dynamic.inputs(inputs, number)) <= most) other = one(number);
    } catch (const Error&) {  // no size for the model
    }
    bool is_taken = false;
    if (other) {
      try {
        Comparison(result, *other, number).note();
        is_taken = true;
      } catch (const OtherStructure& error) {
        if (!error.is_other_special) throw;
      }
    }
    if (!is_taken) dynamic.by_trace.pop_back();
    return is_taken;
  };
  for (const auto& choices : sampling.others(way)) static_cast<void>(std::any_of(choices.begin(), choices.end(), take));
  result.dynamic = dynamic;
  promote_calls(result);
  return result;
}

}  // namespace

Trace trace(const detail::ModelCall& call, Link* link, std::span<const Variable> inputs, const ExportOptions& options) {
  const DynamicSizes dynamic{
      options.dynamic_axes.empty() ? "dynamic_batch" : "dynamic_axes", named_sizes(inputs, options), {}};
  if (dynamic.symbols.empty()) return trace(call, link, inputs, options.train);
  const Sampling sampling(dynamic, inputs);
  if (link != nullptr && !sampling.is_given()) static_cast<void>(trace(call, link, inputs, options.train));  // infers
  std::exception_ptr first;
  for (const Way& way : sampling.ways()) {
    try {
      return traced(call, link, inputs, options, dynamic, sampling, way);
    } catch (const OtherStructure& error) {
      if (!error.is_first_special && !error.is_other_special) throw;
      if (!first) first = std::current_exception();
    } catch (const Error&) {
      if (!first) first = std::current_exception();
    }
  }
  std::rethrow_exception(first);
}

}  // namespace kusari::onnx::exporting
