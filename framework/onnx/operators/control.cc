#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/stack.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/families.h"
#include "kusari/framework/onnx/operators/subgraph.h"

// Operators with graphs of their own. What these read of the graph around them are the inputs behind the node's own.
namespace kusari::onnx {

namespace F = functions;

namespace {

using Body = std::shared_ptr<const Subgraph>;

bool holds(const Call& call, const Value& condition) {
  const Call alone(std::span(&condition, 1), call.device(), call.is_host_only());
  return alone.integer(0, "cond") != 0;
}

Operation branch(const NodeReader& node) {
  node.expect_inputs(1);
  const Body then_branch = node.graph("then_branch"), else_branch = node.graph("else_branch");
  if (then_branch->outputs.size() != else_branch->outputs.size())
    throw ValueError("its branches have " + std::to_string(then_branch->outputs.size()) + " and " +
                     std::to_string(else_branch->outputs.size()) + " outputs");
  return [=, first = node.input_count()](const Call& call) -> Values {
    if (holds(call, call.value(0))) return then_branch->run({}, call, first);
    return else_branch->run({}, call, first + then_branch->captures.size());
  };
}

/// Numbers for the host, which a recording does not see: it may leave kernels for later.
template <class Make>
Value host_value(const Make& make) {
  const ScopedGraphCapture unseen(nullptr);
  const auto no_graph = no_backprop_mode();
  return Value::on_host(make());
}

/// The parts along a new axis, on the host where all of them are.
Value stacked(const Values& parts, const Call& call, int64_t axis) {
  const bool on_host = std::all_of(parts.begin(), parts.end(), [](const Value& part) { return part.is_on_host(); });
  const Call inputs(parts, call.device(), call.is_host_only() || on_host);
  const auto stack = [&] {
    const Variables variables = inputs.from(0);
    return F::stack(std::span<const Variable>(variables), axis);
  };
  return on_host ? host_value([&] { return stack().array(); }) : Value(stack());
}

/// What is collected of an output in no steps, along a new axis: nothing, of the dtype and sizes that the file
/// declares.
Value none_of(const Subgraph::Declared& output, int64_t axis) {
  Shape shape = output.shape;
  shape.insert(normalize_axis(axis, shape.ndim() + 1, "scan_output_axes"), 0);
  return host_value([&] { return zeros(shape, output.dtype.value_or(Dtype::float32)); });
}

Operation loop(const NodeReader& node) {
  node.expect_inputs(2);
  const Body body = node.graph("body");
  const size_t first = node.input_count(), carried = first - 2;
  if (body->inputs.size() != carried + 2 || body->outputs.size() < carried + 1) {
    throw ValueError("its body has " + std::to_string(body->inputs.size()) + " inputs and " +
                     std::to_string(body->outputs.size()) + " outputs for " + std::to_string(carried) +
                     " carried values");
  }
  return [=](const Call& call) -> Values {
    const int64_t most = call.has(0) ? call.integer(0, "M") : std::numeric_limits<int64_t>::max();
    Value condition = call.has(1) ? call.value(1) : host_value([] { return full({}, 1, Dtype::bool_); });
    Values state;
    for (size_t i = 0; i < carried; ++i) state.push_back(call.value(2 + i));
    const size_t scans = body->outputs.size() - carried - 1;
    std::vector<Values> parts(scans);
    for (int64_t i = 0; i < most && holds(call, condition); ++i) {
      Values inputs{host_value([&] { return full({}, i, Dtype::int64); }), condition};
      inputs.insert(inputs.end(), state.begin(), state.end());
      const Values outputs = body->run(inputs, call, first);
      condition = outputs[0];
      std::copy_n(outputs.begin() + 1, carried, state.begin());
      for (size_t s = 0; s < scans; ++s) parts[s].push_back(outputs[1 + carried + s]);
    }
    for (size_t s = 0; s < scans; ++s) {
      state.push_back(parts[s].empty() ? none_of(body->declared[1 + carried + s], 0) : stacked(parts[s], call, 0));
    }
    return state;
  };
}

Operation scan(const NodeReader& node) {
  const Body body = node.graph("body");
  const size_t scanned = static_cast<size_t>(node.integer("num_scan_inputs")), first = node.input_count();
  const bool has_batches = node.opset() < 9;
  const size_t skipped = has_batches ? 1 : 0;  // the lengths of sequences
  if (scanned < 1 || scanned + skipped > first || body->inputs.size() != first - skipped) {
    throw ValueError("it has " + std::to_string(first) + " inputs, its body " + std::to_string(body->inputs.size()) +
                     ", num_scan_inputs is " + std::to_string(scanned));
  }
  if (has_batches && node.has_input(0)) throw ValueError("lengths of sequences (opset 8) are not supported");
  const size_t carried = first - skipped - scanned;
  if (body->outputs.size() < carried) {
    throw ValueError("its body has " + std::to_string(body->outputs.size()) + " outputs for " +
                     std::to_string(carried) + " carried values");
  }
  const size_t results = body->outputs.size() - carried;
  const auto numbers = [&](const char* name, size_t count) {
    std::vector<int64_t> given = node.integers(name).value_or(std::vector<int64_t>(count, 0));
    given.resize(count);
    return given;
  };
  const auto axes = numbers("scan_input_axes", scanned),
             directions = numbers(has_batches ? "directions" : "scan_input_directions", scanned);
  const auto output_axes = numbers("scan_output_axes", results),
             output_directions = numbers("scan_output_directions", results);
  return [=](const Call& call) -> Values {
    const auto run = [&](const Values& given, const std::vector<Variable>& sequences) {
      Values state = given;
      const int64_t length = sequences[0].shape()[normalize_axis(axes[0], sequences[0].ndim(), "scan_input_axes")];
      std::vector<Values> parts(results);
      for (int64_t i = 0; i < length; ++i) {
        Values inputs = state;
        for (size_t s = 0; s < scanned; ++s) {
          const int axis = normalize_axis(axes[s], sequences[s].ndim(), "scan_input_axes");
          std::vector<Index> indices(static_cast<size_t>(axis), Index(Slice{}));
          indices.emplace_back(directions[s] != 0 ? sequences[s].shape()[axis] - 1 - i : i);
          inputs.push_back(F::get_item(sequences[s], indices));
        }
        const Values outputs = body->run(inputs, call, first);
        std::copy_n(outputs.begin(), carried, state.begin());
        for (size_t s = 0; s < results; ++s) parts[s].push_back(outputs[carried + s]);
      }
      for (size_t s = 0; s < results; ++s) {
        if (output_directions[s] != 0) std::reverse(parts[s].begin(), parts[s].end());
        state.push_back(parts[s].empty() ? none_of(body->declared[carried + s], output_axes[s])
                                         : stacked(parts[s], call, output_axes[s]));
      }
      return state;
    };
    Values state;
    std::vector<Variable> sequences;
    for (size_t i = 0; i < carried; ++i) state.push_back(call.value(skipped + i));
    for (size_t i = 0; i < scanned; ++i) sequences.push_back(call[skipped + carried + i]);
    if (!has_batches) return run(state, sequences);

    // Each sequence of a batch by itself.
    const int64_t batch = sequences[0].shape()[0];
    std::vector<Values> all;
    for (int64_t b = 0; b < batch; ++b) {
      Values own;
      std::vector<Variable> own_sequences;
      for (size_t i = 0; i < carried; ++i) own.push_back(F::get_item(call[skipped + i], Index(b)));
      for (const Variable& sequence : sequences) own_sequences.push_back(F::get_item(sequence, Index(b)));
      all.push_back(run(own, own_sequences));
    }
    Values together;
    for (size_t i = 0; i < carried + results; ++i) {
      Values parts;
      for (const Values& one : all) parts.push_back(one[i]);
      together.push_back(stacked(parts, call, 0));
    }
    return together;
  };
}

/// The body for each element of the lists; an array is the same for all.
Operation sequence_map(const NodeReader& node) {
  node.expect_inputs(1);
  const Body body = node.graph("body");
  const size_t first = node.input_count();
  if (body->inputs.size() != first) {
    throw ValueError("it has " + std::to_string(first) + " inputs, its body " + std::to_string(body->inputs.size()));
  }
  return [=](const Call& call) -> Values {
    const size_t length = call.list(0).size();
    std::vector<Values> lists(body->outputs.size());
    for (size_t i = 0; i < length; ++i) {
      Values inputs;
      for (size_t k = 0; k < first; ++k) {
        const Value& value = call.value(k);
        if (value.sequence != nullptr && value.sequence->size() != length) {
          throw ValueError("list " + std::to_string(k) + " has " + std::to_string(value.sequence->size()) +
                           " elements, the first one " + std::to_string(length));
        }
        inputs.push_back(value.sequence != nullptr ? (*value.sequence)[i] : value);
      }
      const Values outputs = body->run(inputs, call, first);
      for (size_t s = 0; s < lists.size(); ++s) lists[s].push_back(outputs[s]);
    }
    Values results;
    for (Values& list : lists) results.push_back(Value::list(std::move(list)));
    return results;
  };
}

}  // namespace

std::span<const Operator> control_operators() {
  static constexpr Operator kOperators[] = {
      {"If", branch},
      {"Loop", loop},
      {"Scan", scan},
      {"SequenceMap", sequence_map},
  };
  return kOperators;
}

}  // namespace kusari::onnx
