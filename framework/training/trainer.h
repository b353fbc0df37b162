#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/training/extension.h"
#include "kusari/framework/training/trigger.h"
#include "kusari/updaters/updater.h"

namespace kusari::training {

/// How Trainer::extend registers an extension; what is not given is the extension's default.
struct ExtendOptions {
  std::string name = {};
  TriggerRef trigger = {};
  std::optional<int> priority = std::nullopt;
  bool call_before_training = false;  ///< also once before the first update
};

/// The training loop: lets an updater take its steps until the stop trigger fires, gathers what is reported in each,
/// and calls the extensions whose triggers fire. chainer.training.Trainer.
class KUSARI_API Trainer {
 public:
  /// Without a stop trigger, training goes on until an exception ends it. `out` is the directory for what extensions
  /// write; run() makes it. `Trainer trainer(updater, {20, "epoch"}, "result");`
  explicit Trainer(updaters::UpdaterRef updater, TriggerRef stop_trigger = {}, std::string out = "result");
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;
  ~Trainer();

  /// Registers an extension; one given by lvalue is referred to, an rvalue is owned. A second one of the same name is
  /// called name_1, and so on. Throws ValueError for the name "training".
  void extend(ExtensionRef extension, ExtendOptions options = {});
  /// The same with a function of the trainer.
  template <class F>
  requires(std::is_invocable_v<F&, Trainer&> &&
           !std::derived_from<std::remove_cvref_t<F>, Extension>) void extend(F&& function,
                                                                              ExtendOptions options = {}) {
    extend(FunctionExtension(std::forward<F>(function)), std::move(options));
  }
  /// Throws ValueError when there is none of that name.
  Extension& get_extension(const std::string& name);
  /// An extension as people are told about it.
  struct ExtensionSummary {
    std::string name, trigger;
    int priority;
  };
  /// All extensions in the order in which an iteration calls them.
  std::vector<ExtensionSummary> extensions() const;
  /// The same as a certain class, `get_extension<extensions::LogReport>("LogReport")`; also throws when it is another.
  template <class T>
  T& get_extension(const std::string& name) {
    auto* extension = dynamic_cast<T*>(&get_extension(name));
    if (extension == nullptr) throw ValueError("Trainer::get_extension: '" + name + "' is of another class");
    return *extension;
  }

  /// Runs the loop. When an extension's initialize throws, finalizes extensions and updater and throws the exception
  /// on. When an update or an extension throws, says so on stderr (unless `show_loop_exception_msg` is false), calls
  /// the extensions' on_error, finalizes extensions and updater, and throws the exception on; run() may then be called
  /// again. Throws StateError after a run that came to its end.
  void run(bool show_loop_exception_msg = true);

  updaters::Updater& updater() const noexcept { return *updater_; }
  const TriggerRef& stop_trigger() const noexcept { return stop_trigger_; }
  const std::string& out() const noexcept { return out_; }
  Reporter& reporter() noexcept { return reporter_; }
  /// What was reported in this iteration.
  Observation& observation() noexcept { return observation_; }
  /// Whether no update has been done.
  bool is_before_training() const { return updater_->iteration() == 0; }
  /// Seconds of training, those before a resume and of runs that failed included. Throws StateError before run().
  double elapsed_time() const;

  /// All that a resumed run needs to be the same as one that was not interrupted: updater, triggers and extensions
  /// under Chainer's names, and the state of the random numbers.
  void serialize(Serializer& serializer);

 private:
  struct Entry {
    std::string name;
    ExtensionRef extension;
    int priority;
    TriggerRef trigger;
    bool call_before_training;
  };

  const Entry* find(const std::string& name) const noexcept;
  std::vector<const Entry*> in_order() const;
  void call(const Entry& entry);
  void handle_error(const std::exception& error, const std::vector<const Entry*>& order, bool show);
  void finalize(const std::vector<const Entry*>& order, bool rethrow);

  updaters::UpdaterRef updater_;
  TriggerRef stop_trigger_;
  std::string out_;
  Reporter reporter_;
  Observation observation_;
  std::vector<Owned<Entry>> entries_;
  std::string running_;  // what the loop is doing, for error messages
  bool done_ = false;
  bool has_run_ = false;
  std::optional<double> started_;  // of the run that goes on
  double time_before_ = 0;         // of the runs before it
};

}  // namespace kusari::training
