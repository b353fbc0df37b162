#pragma once

#include <optional>

#include "kusari/framework/amp/precision_lists.h"
#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"

namespace kusari::amp {

/// Whether functions that this thread applies now are converted. False during a backward pass.
KUSARI_API bool is_autocast_enabled();

struct AutocastOptions {
  /// The 16-bit dtype. Not given: float16 for arrays on a GPU, bfloat16 for arrays on the CPU, as in PyTorch.
  std::optional<Dtype> dtype = std::nullopt;
  /// False: a region without conversions inside another one.
  bool enabled = true;
  /// Whether the 16-bit copy of a float32 parameter is made once and used again.
  bool cache_enabled = true;
  /// Null: autocast_lists(). Otherwise it must outlive the region.
  const PrecisionLists* lists = nullptr;
};

/// While the object lives, the functions that its thread applies get their floating inputs in the dtype that suits each
/// (PrecisionLists): a float32 model computes its products in 16 bits. Parameters stay float32, and so do their
/// gradients. float64 and integers are left alone, and so is a function with an input of float64.
///
///     {
///       const amp::Autocast autocast;
///       loss = F::softmax_cross_entropy(model(x), t);
///     }
///     loss.backward();
///
/// Regions nest, the innermost one counts; other threads are not concerned. A backward pass is never converted,
/// wherever it runs: its functions have the dtypes of the forward computation. The 16-bit copies of parameters are kept
/// until the outermost region ends, and made anew when a parameter has changed; a region may last for the whole
/// training. Gradients of several uses of a parameter within one backward pass are added up in 16 bits, as in PyTorch.
/// A function of one's own says in FunctionNode::precision() how it wants its inputs.
/// Throws ValueError when dtype is not float16 or bfloat16. torch.autocast.
class KUSARI_API Autocast {
 public:
  [[nodiscard]] Autocast() : Autocast(AutocastOptions{}) {}
  [[nodiscard]] explicit Autocast(const AutocastOptions& options);
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;
  ~Autocast();

 private:
  friend KUSARI_API bool is_autocast_enabled();
  friend KUSARI_API std::optional<AutocastOptions> autocast_options();
  class Region;
  Owned<Region> region_;
};

/// What functions that this thread applies now are converted by, to do the same in another thread; nothing where
/// is_autocast_enabled() is false.
KUSARI_API std::optional<AutocastOptions> autocast_options();

}  // namespace kusari::amp
