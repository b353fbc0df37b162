#pragma once

#include <exception>
#include <optional>
#include <string>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/ref.h"
#include "kusari/framework/training/trigger.h"

namespace kusari {
class Serializer;
}

namespace kusari::training {

class Trainer;

/// Extensions with higher priorities are called earlier in an iteration.
inline constexpr int kPriorityWriter = 300;  ///< reports values: Evaluator
inline constexpr int kPriorityEditor = 200;  ///< changes reported values: MicroAverage
inline constexpr int kPriorityReader = 100;  ///< uses reported values: LogReport

/// Something that a Trainer does beside the updates. chainer.training.Extension.
class KUSARI_API Extension {
 public:
  virtual ~Extension();

  /// Called in the iterations for which the trigger fires.
  virtual void operator()(Trainer& trainer) = 0;
  /// Called before the training loop begins, after a snapshot was loaded.
  virtual void initialize(Trainer& trainer);
  /// Called when the training loop ends, by whatever cause.
  virtual void finalize();
  /// Called before finalize when an exception ended the loop.
  virtual void on_error(Trainer& trainer, const std::exception& error);
  virtual void serialize(Serializer& serializer);

  /// What holds unless Trainer::extend is told otherwise.
  virtual std::string default_name() const = 0;
  virtual TriggerRef default_trigger() const;
  virtual int default_priority() const;

  /// The name in the trainer; before Trainer::extend, the one set by hand or "".
  const std::string& name() const noexcept { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

 protected:
  Extension() = default;
  Extension(const Extension&) = default;
  Extension& operator=(const Extension&) = default;

 private:
  std::string name_;
};
/// An extension, owned when given as an rvalue.
using ExtensionRef = Ref<Extension>;

struct ExtensionOptions {
  TriggerRef trigger = {};        ///< every iteration when not given
  std::string default_name = {};  ///< "<lambda>" when not given
  int priority = kPriorityReader;
  Callable<void()> finalizer = {};
  Callable<void(Trainer&)> initializer = {};
  Callable<void(Trainer&, const std::exception&)> on_error = {};
};

/// An extension that calls a function: `trainer.extend(make_extension([](Trainer& t) { ... }, {.trigger = {1,
/// "epoch"}}))`.
class KUSARI_API FunctionExtension final : public Extension {
 public:
  explicit FunctionExtension(Callable<void(Trainer&)> function, ExtensionOptions options = {});

  void operator()(Trainer& trainer) override { function_(trainer); }
  void initialize(Trainer& trainer) override;
  void finalize() override;
  void on_error(Trainer& trainer, const std::exception& error) override;
  std::string default_name() const override { return options_.default_name; }
  TriggerRef default_trigger() const override { return options_.trigger; }
  int default_priority() const override { return options_.priority; }

 private:
  Callable<void(Trainer&)> function_;
  ExtensionOptions options_;
};
/// chainer.training.make_extension.
inline FunctionExtension make_extension(Callable<void(Trainer&)> function, ExtensionOptions options = {}) {
  return FunctionExtension(std::move(function), std::move(options));
}

namespace extensions {}

}  // namespace kusari::training

namespace kusari {
namespace extensions = training::extensions;
}
