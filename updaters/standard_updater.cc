#include "kusari/updaters/standard_updater.h"

#include <algorithm>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/profiler.h"
#include "kusari/framework/core/serializer.h"

namespace kusari::updaters {
namespace {

template <class Named>
size_t find(const Named& named, const std::string& name, const char* what) {
  const auto found = std::find_if(named.begin(), named.end(), [&](const auto& entry) { return entry.first == name; });
  if (found != named.end()) return static_cast<size_t>(found - named.begin());
  std::string message = std::string("StandardUpdater: there is no ") + what + " '" + name + "', only";
  for (const auto& entry : named) message += " '" + entry.first + "'";
  throw KeyError(message);
}

const iterators::Batch& next_batch(iterators::Iterator& iterator) {
  const profiler::Range range("load");
  return iterator.next();
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
  for (auto& [name, optimizer] : optimizers_) {
    Link& target = optimizer->target();  // throws for an optimizer without one
    if (options_.device) target.to(*options_.device);
    if (options_.loss_scale) optimizer->set_loss_scale(*options_.loss_scale);
    if (options_.loss_scaling) optimizer->loss_scaling(*options_.loss_scaling);
    if (options_.auto_new_epoch) optimizer->use_auto_new_epoch();
  }
  if (!options_.input_device) options_.input_device = options_.device;
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
  update_core();
  ++iteration_;
}

Variables StandardUpdater::convert(const iterators::Batch& batch) const {
  const profiler::Range range("convert");
  const Device device = options_.input_device.value_or(Device());
  const datasets::Example arrays =
      options_.converter ? options_.converter(batch, device) : datasets::concat_examples(batch, device);
  Variables inputs;
  inputs.reserve(arrays.size());
  for (const Array& array : arrays) inputs.push_back(Variable(array, false));
  return inputs;
}

void StandardUpdater::update_core() {
  iterators::Iterator& iterator = main_iterator();
  Optimizer& optimizer = get_optimizer("main");
  const Variables inputs = convert(next_batch(iterator));
  const std::span<const Variable> arguments(inputs.data(), inputs.size());
  if (options_.loss_func) {
    optimizer.update(options_.loss_func, arguments);
  } else {
    optimizer.update([&] { return optimizer.call_target(arguments); });
  }
  if (options_.auto_new_epoch && iterator.is_new_epoch()) optimizer.new_epoch(true);
}

void StandardUpdater::finalize() {
  for (auto& [name, iterator] : iterators_) iterator->finalize();
}

void StandardUpdater::serialize(Serializer& serializer) {
  for (auto& [name, iterator] : iterators_) iterator->serialize(*serializer.child("iterator:" + name));
  for (auto& [name, optimizer] : optimizers_) {
    // The model first: a snapshot gives parameters of unknown shape their shape, and the optimizer's state needs it.
    optimizer->target().serialize(*serializer.child("model:" + name));
    optimizer->serialize(*serializer.child("optimizer:" + name));
  }
  serializer("iteration", iteration_);
}

}  // namespace kusari::updaters
