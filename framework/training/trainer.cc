#include "kusari/framework/training/trainer.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/collectives.h"
#include "kusari/framework/core/profiler.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/seconds.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/core/summary.h"
#include "kusari/framework/core/tuning.h"
#include "kusari/framework/training/link_observers.h"
#include "kusari/optimizers/optimizer.h"

namespace kusari::training {

Trainer::Trainer(updaters::UpdaterRef updater, TriggerRef stop_trigger, std::string out)
    : updater_{std::move(updater)},
      stop_trigger_{std::move(stop_trigger)},
      out_{argument::not_empty("Trainer", "out", std::move(out), "name a directory")} {
  for (const auto& [name, optimizer] : updater_->get_all_optimizers()) {
    reporter_.add_observers(std::make_unique<LinkObservers>(name, optimizer->target()));
  }
  updater_->connect_trainer(*this);
}

Trainer::~Trainer() = default;

const Trainer::Entry* Trainer::find(const std::string& name) const noexcept {
  for (const auto& entry : entries_) {
    if (entry->name == name) return entry.get();
  }
  return nullptr;
}

void Trainer::extend(ExtensionRef extension, ExtendOptions options) {
  std::string name = options.name;
  if (name.empty()) name = extension->name();
  if (name.empty()) name = extension->default_name();
  if (name.empty()) throw ValueError("Trainer::extend: the extension has no name: give it one");
  if (name == "training") throw ValueError("Trainer::extend: the name \"training\" is prohibited as an extension name");
  std::string unique = name;
  for (int ordinal = 1; find(unique) != nullptr; ++ordinal) unique = name + "_" + std::to_string(ordinal);
  extension->set_name(unique);
  TriggerRef trigger = options.trigger ? options.trigger : extension->default_trigger();
  const int priority = options.priority.value_or(extension->default_priority());
  entries_.push_back(std::make_unique<Entry>(
      Entry{std::move(unique), std::move(extension), priority, std::move(trigger), options.call_before_training}));
}

Extension& Trainer::get_extension(const std::string& name) {
  if (const Entry* entry = find(name)) return *entry->extension;
  std::string message = "Trainer::get_extension: there is no extension '" + name + "', only";
  for (const auto& entry : entries_) message += " '" + entry->name + "'";
  throw ValueError(message + (entries_.empty() ? " none" : ""));
}

std::vector<const Trainer::Entry*> Trainer::in_order() const {
  std::vector<const Entry*> order;
  for (const auto& entry : entries_) order.push_back(entry.get());
  std::stable_sort(order.begin(), order.end(),
                   [](const Entry* a, const Entry* b) { return a->priority > b->priority; });
  return order;
}

std::vector<Trainer::ExtensionSummary> Trainer::extensions() const {
  std::vector<ExtensionSummary> result;
  for (const Entry* entry : in_order()) result.push_back({entry->name, entry->trigger.describe(), entry->priority});
  return result;
}

double Trainer::elapsed_time() const {
  if (!has_run_) throw StateError("Trainer::elapsed_time: training has not been started yet");
  return time_before_ + (started_ ? steady_seconds() - *started_ : 0);
}

void Trainer::call(const Entry& entry) {
  running_ = entry.name;
  const profiler::Range range(entry.name);
  (*entry.extension)(*this);
  running_.clear();
}

void Trainer::run(bool show_loop_exception_msg) {
  if (done_) throw StateError("Trainer::run: cannot run training loop multiple times");
  std::error_code error;
  std::filesystem::create_directories(out_, error);
  if (error) throw IoError("Trainer::run: cannot make the directory '" + out_ + "': " + error.message());

  const std::vector<const Entry*> order = in_order();
  started_ = steady_seconds();
  has_run_ = true;
  try {
    for (const Entry* entry : order) {
      if (!entry->trigger.finished()) entry->extension->initialize(*this);
    }
  } catch (...) {  // no on_error: a snapshot would hold what a resume that failed has left
    finalize(order, false);
    throw;
  }

  try {
    if (is_before_training()) {
      observation_.clear();
      const ReportScope scope = reporter_.scope(observation_);
      for (const Entry* entry : order) {
        if (entry->call_before_training) call(*entry);
      }
    }
    while (!stop_trigger_(*this)) {
      observation_.clear();
      const ReportScope scope = reporter_.scope(observation_);
      const profiler::Range iteration(profiler::is_on() ? "iteration " + std::to_string(updater_->iteration() + 1)
                                                        : std::string());
      updater_->update();
      for (const Entry* entry : order) {
        if (entry->trigger(*this)) call(*entry);
      }
    }
  } catch (const std::exception& e) {
    collectives::announce_failure(std::current_exception());  // before anything that may take long
    handle_error(e, order, show_loop_exception_msg);
    finalize(order, false);
    throw;
  } catch (...) {  // no std::exception: a thread that is cancelled, or a program's own way to leave the loop
    finalize(order, false);
    throw;
  }
  finalize(order, true);
  done_ = true;
}

void Trainer::handle_error(const std::exception& error, const std::vector<const Entry*>& order, bool show) {
  if (show) {
    // Shown here, because the program would seem to hang if finalizing did.
    const std::string where = running_.empty() ? "update" : "extension " + running_;
    std::fprintf(stderr,
                 "Exception in main training loop: %s\n"
                 "Traceback (most recent call last):\n"
                 "  Trainer::run, %lld iterations done: %s\n"
                 "Will finalize trainer extensions and updater before reraising the exception.\n",
                 error.what(), static_cast<long long>(updater_->iteration()), where.c_str());
    std::fflush(stderr);
  }
  running_.clear();
  for (const Entry* entry : order) {
    try {
      entry->extension->on_error(*this, error);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "Exception in error handler: %s\n", e.what());
    }
  }
}

void Trainer::finalize(const std::vector<const Entry*>& order, bool rethrow) {
  std::exception_ptr first;
  const auto attempt = [&](const auto& action) {
    try {
      action();
    } catch (const std::exception& e) {
      if (!first) first = std::current_exception();
      if (!rethrow) std::fprintf(stderr, "Exception in finalizer: %s\n", e.what());
    }
  };
  for (const Entry* entry : order) attempt([&] { entry->extension->finalize(); });
  attempt([&] { updater_->finalize(); });
  time_before_ = elapsed_time();
  started_.reset();
  if (rethrow && first) std::rethrow_exception(first);
}

void Trainer::serialize(Serializer& serializer) {
  updater_->serialize(*serializer.child("updater"));
  stop_trigger_.serialize(*serializer.child("stop_trigger"));
  const auto extensions = serializer.child("extensions");
  const auto triggers = serializer.child("extension_triggers");
  for (const auto& entry : entries_) {
    entry->extension->serialize(*extensions->child(entry->name));
    entry->trigger.serialize(*triggers->child(entry->name));
  }
  if (serializer.is_writer()) {
    double seconds = started_ && !serializer.restores() ? elapsed_time() : time_before_;
    serializer("_snapshot_elapsed_time", seconds);
  } else {
    serialize_number(serializer, "_snapshot_elapsed_time", time_before_, EntryRange::not_negative);
  }
  // A stop trigger looks at the observation after the snapshot was taken.
  const auto observed = serializer.child("_observation");
  if (observed->contains("_names")) {
    DictSummary values;
    values.add(observation_);
    values.serialize(*observed);
    if (!serializer.is_writer()) {
      observation_.clear();
      for (const auto& [name, value] : values.compute_mean()) observation_.set(name, value);
    }
  }
  tuning::serialize(*serializer.child("tuning"));
  // Last, because reading the rest may draw numbers; Chainer's snapshots have none.
  const auto random_state = serializer.child("random");
  if (random_state->contains("seed")) random::serialize(*random_state);
}

}  // namespace kusari::training
