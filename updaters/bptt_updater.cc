#include "kusari/updaters/bptt_updater.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/collectives.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/functions/array/separate.h"
#include "kusari/framework/functions/array/stack.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/links/state.h"
#include "kusari/optimizers/gradient_exchange.h"
#include "kusari/optimizers/optimizer_access.h"

namespace kusari::updaters {
namespace {

// The sum of the losses of all times, each computed by itself.
LossFunction by_time(Ref<Optimizer> optimizer, LossFunction loss_func) {
  return LossFunction::of_all([optimizer = std::move(optimizer), loss_func = std::move(loss_func)](
                                  std::span<const Variable> inputs, std::span<const std::string> keys) mutable {
    std::vector<Variables> times;
    for (const Variable& input : inputs) times.push_back(functions::separate(input, 0));
    Variable loss;
    for (size_t t = 0; t < times.at(0).size(); ++t) {
      std::vector<Variable> now;
      for (const Variables& each : times) now.push_back(each[t]);
      const Variable one = loss_func ? loss_func(now, keys) : optimizer->call_target(now, keys);
      loss = loss.is_defined() ? loss + one : one;
    }
    return loss;
  });
}

StandardUpdaterOptions standard(const BPTTUpdaterOptions& options, const Ref<Optimizer>& optimizer) {
  argument::not_negative("BPTTUpdater", "bprop_len", options.bprop_len);
  return {.converter = options.converter,
          .device = options.device,
          .loss_func = options.by_time ? by_time(optimizer, options.loss_func) : options.loss_func,
          .loss_scale = options.loss_scale,
          .auto_new_epoch = options.auto_new_epoch,
          .input_device = options.input_device,
          .loss_scaling = options.loss_scaling,
          .prefetch = options.prefetch,
          .static_graph = options.static_graph};
}

}  // namespace

BPTTUpdater::BPTTUpdater(iterators::IteratorRef iterator, Ref<Optimizer> optimizer, const Options& options)
    : StandardUpdater(std::move(iterator), optimizer, standard(options, optimizer)), bprop_len_{options.bprop_len} {}

void BPTTUpdater::update_core() {
  if (detail::OptimizerAccess::has_parts(get_optimizer("main"))) {
    throw StateError(
        "BPTTUpdater: the optimizer is `reproducible`, which computes parts of a batch one after the other: "
        "the states of the model are of the whole batch");
  }
  unchain_states(get_optimizer("main").target());
  if (bprop_len_ == 0) return step_of_times(next_inputs());
  std::vector<Variables> times{next_inputs()};
  while (static_cast<int64_t>(times.size()) < bprop_len_) {
    std::optional<Variables> more = try_next_main();
    if (!more) break;
    times.push_back(std::move(*more));
  }
  Variables inputs;
  for (size_t i = 0; i < times[0].size(); ++i) {
    std::vector<Variable> parts;
    for (const Variables& time : times) parts.push_back(time[i]);
    inputs.push_back(functions::stack(parts, 0));
  }
  step_of_times(inputs);
}

// The first axis is that of the times.
void BPTTUpdater::step_of_times(const Variables& inputs) {
  const bool has_rows = !inputs.empty() && inputs[0].ndim() > 1;
  step(inputs, has_rows ? inputs[0].shape(1) : 1);
}

void BPTTUpdater::serialize(Serializer& serializer) {
  StandardUpdater::serialize(serializer);
  Link& target = get_optimizer("main").target();
  // Each of several processes has other rows: see distributed::multi_node_snapshot.
  const GradientExchange* const exchange = detail::exchange_of(get_optimizer("main"));
  if (exchange != nullptr && exchange->group().size() > 1 && !serializer.restores()) return;
  const auto entries = serializer.child("state:main");
  for (const auto& [path, state] : states(target)) {
    const std::string name = path.substr(1);
    if (!serializer.is_writer() && !entries->contains(name)) continue;  // Chainer's snapshots have none
    Array value = state->is_defined() ? state->array() : Array();
    (*entries)(name, value);
    if (serializer.is_writer()) continue;
    *state = value.is_defined() ? Variable(value.to_device(target.device()), false) : Variable();
  }
}

}  // namespace kusari::updaters
