#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/array/squeeze.h"
#include "kusari/framework/functions/array/stack.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/families.h"

// Lists of arrays, and values that may be missing.
namespace kusari::onnx {

namespace F = functions;

namespace {

/// A place in a list, counted from the end if it is negative; `most`: the last one allowed.
size_t place_in(const std::vector<Value>& list, int64_t position, int64_t most) {
  const int64_t at = position < 0 ? position + static_cast<int64_t>(list.size()) : position;
  if (at < 0 || at > most)
    throw IndexError("position " + std::to_string(position) + " is out of range for " + std::to_string(list.size()) +
                     " elements");
  return static_cast<size_t>(at);
}

Value sequence_at(const Call& call) {
  const std::vector<Value>& list = call.list(0);
  return list[place_in(list, call.integer(1, "position"), static_cast<int64_t>(list.size()) - 1)];
}

Value sequence_insert(const Call& call) {
  std::vector<Value> list = call.list(0);
  const int64_t end = static_cast<int64_t>(list.size());
  const size_t at = call.has(2) ? place_in(list, call.integer(2, "position"), end) : list.size();
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), call.value(1));
  return Value::list(std::move(list));
}

Value sequence_erase(const Call& call) {
  std::vector<Value> list = call.list(0);
  const int64_t last = static_cast<int64_t>(list.size()) - 1;
  list.erase(list.begin() +
             static_cast<std::ptrdiff_t>(place_in(list, call.has(1) ? call.integer(1, "position") : last, last)));
  return Value::list(std::move(list));
}

Value sequence_length(const Call& call) {
  const int64_t length = static_cast<int64_t>(call.list(0).size());
  const ScopedGraphCapture unseen(nullptr);  // the same whenever the lists are made in the same way
  return Value::on_host(from_host(&length, {}, Dtype::int64));
}

Value optional_value(const Call& call) { return call.value(0); }

Value optional_has_element(const Call& call) {
  const ScopedGraphCapture unseen(nullptr);
  return Value::on_host(full({}, call.has(0) ? 1 : 0, Dtype::bool_));
}

Value optional_get_element(const Call& call) {
  if (!call.has(0)) throw ValueError("its input is an optional value that is empty");
  return call.value(0);
}

Operation split_to_sequence(const NodeReader& node) {
  const int64_t axis = node.integer("axis", 0);
  const bool keepdims = node.flag("keepdims", true);
  return [=](const Call& call) -> Values {
    const Variable x = call[0];
    const int at = normalize_axis(axis, x.ndim(), "axis");
    const int64_t length = x.shape()[at];
    std::vector<int64_t> ends;
    if (call.has(1) && call.shape(1).ndim() > 0) {
      int64_t end = 0;
      for (const int64_t size : call.integers(1)) ends.push_back(end += size);
      if (end != length)
        throw ValueError("split adds up to " + std::to_string(end) + ", axis " + std::to_string(axis) + " has " +
                         std::to_string(length) + " elements");
      if (ends.empty()) return {Value::list({})};
      ends.pop_back();
    } else {
      const int64_t part = call.has(1) ? call.integer(1, "split") : 1;
      if (part < 1) throw ValueError("split is " + std::to_string(part));
      for (int64_t end = part; end < length; end += part) ends.push_back(end);
    }
    std::vector<Value> list;
    for (const Variable& part : F::split_axis(x, std::span<const int64_t>(ends), at)) {
      list.emplace_back(call.has(1) || keepdims ? part : F::squeeze(part, at));
    }
    return {Value::list(std::move(list))};
  };
}

Operation concat_from_sequence(const NodeReader& node) {
  const int64_t axis = node.integer("axis");
  const bool is_new = node.flag("new_axis", false);
  return [=](const Call& call) -> Values {
    const Call elements(call.list(0), call.device(), call.is_host_only());
    const Variables parts = elements.from(0);
    return {is_new ? F::stack(std::span<const Variable>(parts), axis)
                   : F::concat(std::span<const Variable>(parts), axis)};
  };
}

template <Value (*kFunction)(const Call&)>
Operation of_call(const NodeReader&) {
  return [](const Call& call) -> Values { return {kFunction(call)}; };
}

}  // namespace

std::span<const Operator> sequence_operators() {
  static constexpr Operator kOperators[] = {
      {"SequenceEmpty",
       [](const NodeReader&) -> Operation { return [](const Call&) -> Values { return {Value::list({})}; }; }},
      {"SequenceConstruct",
       [](const NodeReader&) -> Operation {
         return [](const Call& call) -> Values {
           std::vector<Value> list;
           for (size_t i = 0; i < call.size(); ++i) list.push_back(call.value(i));
           return {Value::list(std::move(list))};
         };
       }},
      {"SequenceAt", of_call<sequence_at>},
      {"SequenceInsert", of_call<sequence_insert>},
      {"SequenceErase", of_call<sequence_erase>},
      {"SequenceLength", of_call<sequence_length>},
      {"SplitToSequence", split_to_sequence},
      {"ConcatFromSequence", concat_from_sequence},
      {"Optional", of_call<optional_value>},
      {"OptionalGetElement", of_call<optional_get_element>},
      {"OptionalHasElement", of_call<optional_has_element>, true},
  };
  return kOperators;
}

}  // namespace kusari::onnx
