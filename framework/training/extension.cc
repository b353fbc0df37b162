#include "kusari/framework/training/extension.h"

#include "kusari/framework/core/error.h"

namespace kusari::training {

Extension::~Extension() = default;
void Extension::initialize(Trainer&) {}
void Extension::finalize() {}
void Extension::on_error(Trainer&, const std::exception&) {}
void Extension::serialize(Serializer&) {}
TriggerRef Extension::default_trigger() const { return {1, "iteration"}; }
int Extension::default_priority() const { return kPriorityReader; }

FunctionExtension::FunctionExtension(Callable<void(Trainer&)> function, ExtensionOptions options)
    : function_{std::move(function)}, options_{std::move(options)} {
  if (!function_) throw ValueError("FunctionExtension: function is empty: it must be callable");
  if (options_.default_name.empty()) options_.default_name = "<lambda>";
  if (!options_.trigger) options_.trigger = {1, "iteration"};
}

void FunctionExtension::initialize(Trainer& trainer) {
  if (options_.initializer) options_.initializer(trainer);
}

void FunctionExtension::finalize() {
  if (options_.finalizer) options_.finalizer();
}

void FunctionExtension::on_error(Trainer& trainer, const std::exception& error) {
  if (options_.on_error) options_.on_error(trainer, error);
}

}  // namespace kusari::training
