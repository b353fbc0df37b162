#include "kusari/framework/training/extensions/evaluator.h"

#include <memory>
#include <utility>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/training/link_observers.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::training::extensions {

Evaluator::Evaluator(iterators::IteratorRef iterator, Link& model, detail::CallModel call, EvaluatorOptions options)
    : iterator_{std::move(iterator)}, home_{model.home()}, call_{call}, options_{std::move(options)} {
  if (call_ == nullptr && !options_.eval_func) {
    throw TypeError("Evaluator: the model cannot be called with variables: give an eval_func");
  }
  if (iterator_->repeat()) {
    throw ValueError(
        "Evaluator: the iterator repeats, so an evaluation would not end: create it with {.repeat = false}");
  }
}

std::map<std::string, iterators::Iterator*> Evaluator::get_all_iterators() const { return {{"main", &get_iterator()}}; }
std::map<std::string, Link*> Evaluator::get_all_targets() const { return {{"main", &get_target()}}; }

void Evaluator::operator()(Trainer&) { (*this)(); }

DictSummary::Values Evaluator::operator()() {
  Reporter reporter;
  reporter.add_observers(
      std::make_unique<LinkObservers>((name().empty() ? std::string() : name() + "/") + "main", home_->get()));
  DictSummary::Values means;
  {
    const auto scope = reporter.scope(reporter.observation());
    const auto test_mode = using_config(&Config::train, false);
    reports_.clear();
    means = evaluate();
    if (combine_) {
      if (reports_.empty() && !means.empty()) reports_.push_back({1, std::move(means)});
      means = combine_(std::exchange(reports_, {}));
    }
  }
  for (const auto& [key, mean] : means) report({{key, mean}});
  return means;
}

DictSummary::Values Evaluator::evaluate() {
  if (options_.eval_hook) options_.eval_hook(*this);
  DictSummary summary;
  Observation observation;
  iterator_->reset();
  const datasets::Keys keys = iterator_->keys();
  for (const iterators::Batch& batch : *iterator_) {
    if (batch.empty()) {
      throw ValueError("Evaluator '" + (name().empty() ? default_name() : name()) +
                       "': the iterator gave a batch without examples: is its data set empty?");
    }
    observation.clear();
    const auto scope = report_scope(observation);
    const Device device = options_.device.value_or(Device());
    const datasets::Example arrays =
        options_.converter ? options_.converter(batch, device) : datasets::concat_examples(batch, device);
    Variables inputs;
    for (const Array& array : arrays) inputs.push_back(Variable(array, false));
    const std::span<const Variable> arguments(inputs.data(), inputs.size());
    {
      const auto no_graph = no_backprop_mode();
      if (options_.eval_func) {
        options_.eval_func(arguments, keys);
      } else {
        call_(home_->get(), {arguments, keys});
      }
    }
    summary.add(observation);
    if (!combine_) continue;
    DictSummary own;
    own.add(observation);
    reports_.push_back({static_cast<int64_t>(batch.size()), own.compute_mean()});
  }
  return summary.compute_mean();
}

void Evaluator::finalize() { iterator_->finalize(); }

}  // namespace kusari::training::extensions
