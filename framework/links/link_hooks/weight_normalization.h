#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kusari/framework/links/link_hooks/weight_hook.h"

namespace kusari::link_hooks {

/// Options of WeightNormalization.
struct WeightNormalizationOptions {
  std::optional<int64_t> axis = std::nullopt;  ///< along which g has a number for each place; default: that of outputs
  double eps = 1e-12;                          ///< norms are sqrt(|v|^2 + eps^2), so that v = 0 is no division by 0
  std::string weight_name = "W";
};

/// Lets a link compute with g v / |v|: the length of its weights is learnt apart from their direction. v is the link's
/// parameter, which keeps its name, and g its new parameter "W_g" (after the weight's name), with the shape of W but 1
/// along all axes other than `axis`; by default that of the outputs, 0, or 1 of a deconvolution. g is |v| at first, so
/// that the link computes what it did, and what it computes stays when the hook is deleted. A lazy weight gets its g
/// in the first call. Throws ValueError when the link has no such weight, IndexError when that has no such axis.
/// Differentiable to any order; 16-bit weights are computed in float32. Salimans and Kingma 2016;
/// torch.nn.utils.weight_norm, where g and v are weight_g and weight_v.
class KUSARI_API WeightNormalization final : public WeightHook {
 public:
  explicit WeightNormalization(WeightNormalizationOptions options = {});
  const char* name() const override { return "WeightNormalization"; }
  void added(Link* link) override;
  void deleted(Link* link) override;

 private:
  Variable transformed(Link& link, const Variable& weight) override;
  std::string length_name() const { return weight_name() + "_g"; }
  Variable norms(const Variable& weight) const;
  void prepare(Link& link, const Variable& weight) const;

  WeightNormalizationOptions options_;
  int64_t axis_ = 0;
};

}  // namespace kusari::link_hooks
