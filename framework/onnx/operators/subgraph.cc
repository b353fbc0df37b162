#include "kusari/framework/onnx/operators/subgraph.h"

#include <algorithm>
#include <utility>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"

namespace kusari::onnx {

namespace {

/// Runs the operation on the host, seen by no static graph: its results are constants of the shapes at hand.
Values run_on_host(const Subgraph::Step& step, std::span<const Value> inputs) {
  const ScopedGraphCapture unseen(nullptr);
  const auto no_graph = no_backprop_mode();
  Values results = step.run(Call(inputs, Device(), true));
  for (Value& result : results) {
    if (!result.is_given() || result.sequence != nullptr) continue;
    result = Value::on_host(result.is_on_host() ? result.host : result.variable.array().to_device(Device()));
  }
  return results;
}

template <class E>
[[noreturn]] void rethrow(const std::string& place, const E& error) {
  throw E(place + ": " + error.what());
}

}  // namespace

void at_place(const std::string& place, const std::function<void()>& f) {
  try {
    f();
  } catch (const TypeError& error) {
    rethrow(place, error);
  } catch (const ValueError& error) {
    rethrow(place, error);
  } catch (const IndexError& error) {
    rethrow(place, error);
  } catch (const DeviceError& error) {
    rethrow(place, error);
  } catch (const IoError& error) {
    rethrow(place, error);
  } catch (const OutOfMemoryError& error) {
    rethrow(place, error);
  } catch (const StateError& error) {
    rethrow(place, error);
  }
}

Values Subgraph::run(std::span<const Value> given, std::span<const Value> captured, const Device& device) const {
  std::vector<Value> values(static_cast<size_t>(value_count));
  for (size_t i = 0; i < inputs.size() && i < given.size(); ++i) values[static_cast<size_t>(inputs[i])] = given[i];
  for (size_t i = 0; i < captures.size(); ++i) values[static_cast<size_t>(captures[i])] = captured[i];

  Values arguments;
  for (const Step& step : steps) {
    arguments.clear();
    bool all_on_host = !step.is_random && !step.stays;
    for (const int input : step.inputs) {
      arguments.push_back(input >= 0 ? values[static_cast<size_t>(input)] : Value());
      all_on_host = all_on_host && (!arguments.back().is_given() || arguments.back().is_on_host());
    }
    for (const int value : step.last_used) values[static_cast<size_t>(value)] = Value();
    Values results;
    at_place(step.place, [&] {
      results = all_on_host || step.reads_shapes_only ? run_on_host(step, arguments)
                                                      : step.run(Call(arguments, device, false));
    });
    for (size_t i = 0; i < step.outputs.size() && i < results.size(); ++i) {
      if (step.outputs[i] >= 0) values[static_cast<size_t>(step.outputs[i])] = std::move(results[i]);
    }
  }

  Values results;
  for (const int output : outputs) results.push_back(values[static_cast<size_t>(output)]);
  return results;
}

Values Subgraph::run(std::span<const Value> given, const Call& call, size_t first) const {
  Values captured;
  for (size_t i = 0; i < captures.size(); ++i) captured.push_back(call.value(first + i));
  return run(given, captured, call.device());
}

}  // namespace kusari::onnx
