#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

struct LinearOptions {
  bool nobias = false;
  Initializer initial_w = {};  ///< default: LeCunNormal
  Initializer initial_bias = 0;
};

/// y = x W^T + b. x: (N, ...), its axes after the first `n_batch_axes` flattened to in_size; returns (N, out_size).
/// chainer.links.Linear.
class KUSARI_API Linear : public Link {
 public:
  using Options = LinearOptions;
  /// in_size may be kInfer.
  Linear(int64_t in_size, int64_t out_size, Options options = {});
  /// in_size is taken from the first batch.
  explicit Linear(int64_t out_size, Options options = {}) : Linear(kInfer, out_size, std::move(options)) {}

  /// With these numbers: W: (out_size, in_size); b: (out_size), zeros when undefined, ignored with nobias. Throws
  /// ValueError when the shapes do not fit. chainer.links.Linear.from_params.
  static Linear from_params(const Array& W, const Array& b = {}, bool nobias = false);

  Variable operator()(const Variable& x) const { return (*this)(x, 1); }
  Variable operator()(const Variable& x, int n_batch_axes) const;
  std::vector<std::pair<std::string, std::string>> printable_specs() const override;

  Parameter W;          ///< (out_size, in_size)
  OptionalParameter b;  ///< (out_size); absent with nobias
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
