#include "kusari/updaters/standard_updater.h"

#include <algorithm>
#include <utility>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/report_means.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/optimizers/gradient_exchange.h"
#include "kusari/optimizers/optimizer_access.h"

namespace kusari::updaters {
namespace {

/// How many examples there are for a step, of which several processes have parts. `is_first`: of the step's batches.
void note_batch(Optimizer& optimizer, const Variables& inputs, bool is_first) {
  if (inputs.empty() || inputs[0].ndim() == 0) return;
  const auto note = is_first ? detail::OptimizerAccess::begin_examples : detail::OptimizerAccess::note_examples;
  note(optimizer, inputs[0].shape(0));
}

template <class Named>
size_t find(const Named& named, const std::string& name, const char* what) {
  const auto found = std::find_if(named.begin(), named.end(), [&](const auto& entry) { return entry.first == name; });
  if (found != named.end()) return static_cast<size_t>(found - named.begin());
  std::string message = std::string("StandardUpdater: there is no ") + what + " '" + name + "', only";
  for (const auto& entry : named) message += " '" + entry.first + "'";
  throw KeyError(message);
}

Variables to_variables(const datasets::Example& arrays) {
  Variables inputs;
  inputs.reserve(arrays.size());
  for (const Array& array : arrays) inputs.push_back(Variable(array, false));
  return inputs;
}

void scale_gradients(Link& model, double factor) {
  for (Parameter* parameter : model.params()) {
    if (!parameter->is_initialized() || !parameter->grad().is_defined()) continue;
    parameter->set_grad((Variable(parameter->grad(), false) * factor).array());  // its loss scale stays
  }
}

}  // namespace

StandardUpdater::StandardUpdater(iterators::IteratorRef iterator, Ref<Optimizer> optimizer,
                                 StandardUpdaterOptions options)
    : StandardUpdater(NamedIterators{{"main", std::move(iterator)}}, NamedOptimizers{{"main", std::move(optimizer)}},
                      std::move(options)) {}

StandardUpdater::StandardUpdater(NamedIterators iterators, NamedOptimizers optimizers, StandardUpdaterOptions options)
    : iterators_{std::move(iterators)}, optimizers_{std::move(optimizers)}, options_{std::move(options)} {
  main_ = find(iterators_, "main", "iterator");
  if (options_.loss_scale && options_.loss_scaling) {
    throw ValueError("StandardUpdater: loss_scale and loss_scaling are both given: one of them must do");
  }
  if (options_.prefetch < 0 || options_.accumulate < 1) {
    throw ValueError("StandardUpdater: prefetch is " + std::to_string(options_.prefetch) + " and accumulate is " +
                     std::to_string(options_.accumulate) + ": they must be at least 0 and 1");
  }
  for (auto& [name, optimizer] : optimizers_) {
    Link& target = optimizer->target();  // throws for an optimizer without one
    if (options_.device) target.to(*options_.device);
    if (options_.loss_scale) optimizer->set_loss_scale(*options_.loss_scale);
    if (options_.loss_scaling) optimizer->loss_scaling(*options_.loss_scaling);
    if (options_.auto_new_epoch) optimizer->use_auto_new_epoch();
  }
  keys_ = main_iterator().keys();
  if (options_.static_graph) {
    const auto loss_of = [loss_func = options_.loss_func, keys = keys_](Optimizer& optimizer,
                                                                        std::span<const Variable> inputs) {
      return loss_func ? loss_func(inputs, keys) : optimizer.call_target(inputs, keys);
    };
    const bool calls_others = static_cast<bool>(options_.loss_func);
    static_step_ = std::make_unique<StaticStep>(options_.static_graph.options(), loss_of, calls_others);
  }
  if (!options_.input_device) options_.input_device = options_.device;
  seed_ = random::bits();
  for (const auto& [name, iterator] : iterators_) {
    feeds_.emplace_back("StandardUpdater", name, iterator,
                        BatchFeed::Options{.converter = options_.converter,
                                           .device = options_.input_device.value_or(Device()),
                                           .prefetch = options_.prefetch,
                                           .place = static_cast<int64_t>(feeds_.size())});
    feeds_.back().set_seed(seed_);
  }
}

iterators::Iterator& StandardUpdater::get_iterator(const std::string& name) {
  return *iterators_[find(iterators_, name, "iterator")].second;
}

Optimizer& StandardUpdater::get_optimizer(const std::string& name) {
  return *optimizers_[find(optimizers_, name, "optimizer")].second;
}

std::vector<std::pair<std::string, Optimizer*>> StandardUpdater::get_all_optimizers() {
  std::vector<std::pair<std::string, Optimizer*>> result;
  for (auto& [name, optimizer] : optimizers_) result.emplace_back(name, optimizer.get());
  return result;
}

void StandardUpdater::update() {
  timer_.begin_step();
  const double waited = seconds_waited();
  sweep_ = {};
  {
    // Several optimizers may have losses that share a graph, as the two of a GAN do: the first must leave it whole.
    const auto graphs =
        using_config(&Config::keep_graph_on_report, optimizers_.size() > 1 || config().keep_graph_on_report);
    update_core();
  }
  if (static_step_ && !std::exchange(is_static_step_used_, true)) {
    log::warn("StandardUpdater: static_graph does nothing for an update_core of one's own; call static_graph() there");
  }
  look_ahead();
  ++iteration_;
  timer_.end_step(seconds_waited() - waited);
}

double StandardUpdater::seconds_waited() const {
  double seconds = 0;
  for (const auto& [name, optimizer] : optimizers_) {
    if (const GradientExchange* const exchange = detail::OptimizerAccess::exchange(*optimizer))
      seconds += exchange->waited();
  }
  return seconds;
}

std::optional<double> StandardUpdater::previous_epoch_detail() const {
  return sweep_.batches > 1 ? sweep_.previous_epoch_detail : main_iterator().previous_epoch_detail();
}

bool StandardUpdater::is_new_epoch() const {
  return sweep_.batches > 1 ? sweep_.completed > 0 : main_iterator().is_new_epoch();
}

Variables StandardUpdater::next_inputs(const std::string& name) {
  const StepTimer::DataScope data = data_time();
  const size_t place = find(iterators_, name, "iterator");
  const datasets::Example arrays = feeds_[place].next();
  if (place == main_) count_batch();
  return to_variables(arrays);
}

DictVariables StandardUpdater::next_named_inputs(const std::string& name) {
  const Variables inputs = next_inputs(name);
  return DictVariables(get_iterator(name).keys(), std::span<const Variable>(inputs.data(), inputs.size()));
}

std::optional<Variables> StandardUpdater::try_next_main() {
  const StepTimer::DataScope data = data_time();
  const std::optional<datasets::Example> arrays = feeds_[main_].try_next();
  if (!arrays) return std::nullopt;
  count_batch();
  return to_variables(*arrays);
}

void StandardUpdater::count_batch() {
  const iterators::Iterator& iterator = main_iterator();
  if (sweep_.batches++ == 0) sweep_.previous_epoch_detail = iterator.previous_epoch_detail();
  if (iterator.is_new_epoch()) ++sweep_.completed;
}

Variables StandardUpdater::convert(const iterators::Batch& batch) {
  const StepTimer::DataScope data = data_time();
  return to_variables(feeds_[main_].convert(batch));
}

void StandardUpdater::look_ahead() {
  const StepTimer::DataScope data = data_time();
  for (BatchFeed& feed : feeds_) feed.look_ahead();
}

Variable StandardUpdater::loss_of(Optimizer& optimizer, const Variables& inputs) const {
  const std::span<const Variable> arguments(inputs.data(), inputs.size());
  if (static_step_) return static_step_->loss(optimizer, arguments);
  return options_.loss_func ? options_.loss_func(arguments, keys_) : optimizer.call_target(arguments, keys_);
}

void StandardUpdater::step(const Variables& inputs) {
  note_batch(get_optimizer("main"), inputs, true);
  take_step(inputs);
}

void StandardUpdater::step(const Variables& inputs, int64_t examples) {
  detail::OptimizerAccess::begin_examples(get_optimizer("main"), examples);
  take_step(inputs);
}

void StandardUpdater::take_step(const Variables& inputs) {
  is_static_step_used_ = true;
  Optimizer& optimizer = get_optimizer("main");
  if (detail::OptimizerAccess::has_parts(optimizer)) {
    update_in_parts(optimizer, inputs);
  } else if (static_step_) {
    static_step_->update(optimizer, {inputs.data(), inputs.size()});
  } else {
    optimizer.update([&] { return loss_of(optimizer, inputs); });
  }
  begin_epochs(optimizer);
}

void StandardUpdater::update_in_parts(Optimizer& optimizer, const Variables& inputs) {
  const int64_t examples = inputs.empty() || inputs[0].ndim() == 0 ? 0 : inputs[0].shape(0);
  detail::OptimizerAccess::update_in_parts(optimizer, examples, [&](const detail::BatchPart& part) {
    Variables own;
    for (const Variable& input : inputs) own.push_back(part.of(input));
    return loss_of(optimizer, own);
  });
}

void StandardUpdater::update_core() {
  if (options_.accumulate == 1) return step(next_inputs());
  is_static_step_used_ = true;
  Optimizer& optimizer = get_optimizer("main");
  update_accumulated(optimizer);
  begin_epochs(optimizer);
}

void StandardUpdater::begin_epochs(Optimizer& optimizer) {
  if (!options_.auto_new_epoch) return;
  for (int64_t i = 0; i < sweep_.completed; ++i) optimizer.new_epoch(true);
}

void StandardUpdater::update_accumulated(Optimizer& optimizer) {
  const double share = 1 / static_cast<double>(options_.accumulate);
  ReportMeans reports;
  optimizer.target().cleargrads();
  while (reports.count() < options_.accumulate) {
    Observation observation;
    {
      const std::optional<ReportScope> scope = ReportMeans::report_to(observation);
      const std::optional<Variables> inputs = reports.count() == 0 ? next_inputs() : try_next_main();
      if (!inputs) break;
      note_batch(optimizer, *inputs, reports.count() == 0);
      optimizer.accumulate([&] { return loss_of(optimizer, *inputs); }, share);
    }
    reports.add(observation);
    if (reports.count() < options_.accumulate) look_ahead();
  }
  if (reports.count() < options_.accumulate) {
    scale_gradients(optimizer.target(),
                    static_cast<double>(options_.accumulate) / static_cast<double>(reports.count()));
  }
  optimizer.update();
  reports.report();
}

void StandardUpdater::finalize() {
  for (BatchFeed& feed : feeds_) feed.drop();
  for (auto& [name, iterator] : iterators_) iterator->finalize();
}

void StandardUpdater::serialize(Serializer& serializer) {
  for (auto& [name, iterator] : iterators_) iterator->serialize(*serializer.child("iterator:" + name));
  for (auto& [name, optimizer] : optimizers_) {
    // The model first: a snapshot gives parameters of unknown shape their shape, and the optimizer's state needs it.
    optimizer->target().serialize(*serializer.child("model:" + name));
    optimizer->serialize(*serializer.child("optimizer:" + name));
  }
  serialize_count(serializer, "iteration", iteration_);
  serialize_feeds(*serializer.child("converter"));
  serialize_sweep(*serializer.child("sweep"));
  timer_.serialize(*serializer.child("step_times"));
}

// Chainer's snapshots have nothing of these: its converters draw from the process's stream.
void StandardUpdater::serialize_feeds(Serializer& serializer) {
  std::vector<int64_t> batches;
  for (const BatchFeed& feed : feeds_) batches.push_back(feed.batches());
  if (serializer.is_writer() || serializer.contains("seed")) {
    serializer("seed", seed_);
    serializer("batches", batches);
  } else {
    batches.assign(feeds_.size(), iteration_ * options_.accumulate);
  }
  if (serializer.is_writer()) return;
  for (const int64_t count : batches) {
    if (count < 0)
      throw ValueError(serializer.place("batches") + "has " + std::to_string(count) + ": none is negative");
  }
  for (size_t i = 0; i < feeds_.size(); ++i) {
    feeds_[i].set_seed(seed_);
    feeds_[i].set_batches(i < batches.size() ? batches[i] : 0);
  }
}

void StandardUpdater::serialize_sweep(Serializer& serializer) {
  if (serializer.is_writer() ? sweep_.batches < 2 : !serializer.contains("batches")) {
    if (!serializer.is_writer()) sweep_ = {};
    return;
  }
  serialize_count(serializer, "batches", sweep_.batches);
  serialize_count(serializer, "completed", sweep_.completed);
  if (!serializer.is_writer() && sweep_.completed > sweep_.batches) {
    throw ValueError(serializer.place("completed") + "is " + std::to_string(sweep_.completed) + " of " +
                     std::to_string(sweep_.batches) + " batches");
  }
  double previous = sweep_.previous_epoch_detail.value_or(-1);
  serialize_number(serializer, "previous_epoch_detail", previous, EntryRange::finite);
  sweep_.previous_epoch_detail = previous < 0 ? std::nullopt : std::optional<double>(previous);
}

}  // namespace kusari::updaters
