#pragma once

#include <string>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extension.h"

namespace kusari::training::extensions {

/// Adds a number of the trainer to the observation, once an epoch unless told otherwise, so that LogReport sees it.
/// chainer.training.extensions.observe_value.
KUSARI_API FunctionExtension observe_value(std::string observation_key, Callable<double(Trainer&)> target_func);

/// The same with the learning rate of an optimizer: its hyperparameter "lr", or, for Adam and its relatives, the
/// bias-corrected step size. Throws KeyError, when called, for an optimizer that has neither.
/// chainer.training.extensions.observe_lr.
KUSARI_API FunctionExtension observe_lr(std::string optimizer_name = "main", std::string observation_key = "lr");

}  // namespace kusari::training::extensions
