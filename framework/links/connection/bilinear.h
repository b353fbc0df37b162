#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

struct BilinearOptions {
  bool nobias = false;         ///< leave out V1, V2 and b
  Initializer initial_w = {};  ///< default: LeCunNormal, also of V1 and V2
  Initializer initial_v1 = {};
  Initializer initial_v2 = {};
  Initializer initial_b = 0;
};

/// F::bilinear with learnt weights: y[l] = sum(e1[j] e2[k] W[j, k, l]) + e1 V1 + e2 V2 + b. e1: (N, ...), flattened to
/// left_size; e2: (N, ...), flattened to right_size; returns (N, out_size). chainer.links.Bilinear.
class KUSARI_API Bilinear : public Link {
 public:
  using Options = BilinearOptions;
  Bilinear(int64_t left_size, int64_t right_size, int64_t out_size, Options options = {});
  Variable operator()(const Variable& e1, const Variable& e2) const;

  Parameter W;           ///< (left_size, right_size, out_size)
  OptionalParameter V1;  ///< (left_size, out_size)
  OptionalParameter V2;  ///< (right_size, out_size)
  OptionalParameter b;   ///< (out_size)
};

}  // namespace kusari::links
