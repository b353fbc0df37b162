#pragma once

#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extension.h"

namespace kusari::training::extensions {

/// Ends a training that diverged: throws ValueError, naming the parameter, when one holds NaN or an infinity. Reads all
/// parameters whenever it is called, every iteration unless told otherwise.
/// chainer.training.extensions.FailOnNonNumber.
class KUSARI_API FailOnNonNumber final : public Extension {
 public:
  void operator()(Trainer& trainer) override;
  std::string default_name() const override { return "FailOnNonNumber"; }
};

}  // namespace kusari::training::extensions
