#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kusari/framework/links/link_hooks/weight_hook.h"

namespace kusari::link_hooks {

/// Options of SpectralNormalization.
struct SpectralNormalizationOptions {
  int64_t n_power_iteration = 1;                ///< steps of the power iteration that each call makes
  double eps = 1e-6;                            ///< added to the norms by which the power iteration divides
  bool use_gamma = false;                       ///< a learnt factor, at first W's largest singular value
  std::optional<double> factor = std::nullopt;  ///< the largest singular value that the weight is to have; default: 1
  std::string weight_name = "W";
};

/// Lets a link compute with W / sigma, sigma approaching the largest singular value of W, seen as a matrix (n, -1)
/// whose rows are the outputs: W's axis 0, or axis 1 of a deconvolution. sigma = u^T W v, where each call does
/// n_power_iteration times v = W^T u / |W^T u|, u = W v / |W v|. u is the link's persistent array "W_u" (after the
/// weight's name), drawn from the standard normal distribution at first, and stays as it is when config.train is false
/// and while config.in_recomputing, when sigma is that of the last call: F::forget may call a link but once before
/// backward, as in Chainer. The learnt factor is the link's parameter "gamma" of shape (). Throws ValueError when the
/// link has no such weight, when an axis of it is 0 long, and when n_power_iteration < 1. Differentiable to any order,
/// u and v being constants. Miyato et al. 2018; chainer.link_hooks.SpectralNormalization.
class KUSARI_API SpectralNormalization final : public WeightHook {
 public:
  explicit SpectralNormalization(SpectralNormalizationOptions options = {});
  const char* name() const override { return "SpectralNormalization"; }
  void added(Link* link) override;
  void deleted(Link* link) override;

 private:
  Variable transformed(Link& link, const Variable& weight) override;
  std::string vector_name() const { return weight_name() + "_u"; }
  void check(const Shape& shape) const;
  void prepare(Link& link, const Array& weight) const;
  Variable as_matrix(const Variable& weight) const;

  SpectralNormalizationOptions options_;
  int64_t axis_ = 0;  // of the outputs
  Array u_, v_;       // of the last call, for the same call when it is recomputed
};

}  // namespace kusari::link_hooks
