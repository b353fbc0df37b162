#pragma once

#include <iosfwd>
#include <string>

#include "kusari/framework/autograd/function_hook.h"

namespace kusari::function_hooks {

/// Prints each function's name and its inputs before the forward computation, and the gradients of its outputs before
/// the backward one: shape, dtype, device, mean and standard deviation of each array. chainer.function_hooks.PrintHook.
class KUSARI_API PrintHook final : public FunctionHook {
 public:
  /// To the standard output, or to `out`, which must outlive the hook.
  PrintHook();
  explicit PrintHook(std::ostream& out) : out_{&out} {}

  void forward_preprocess(const FunctionNode& function, const ArrayRefs& in) override;
  void backward_preprocess(const FunctionNode& function, const Variables& gy) override;

 private:
  std::ostream* out_;
};

}  // namespace kusari::function_hooks
