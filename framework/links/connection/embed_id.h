#pragma once

#include <cstdint>
#include <optional>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

struct EmbedIDOptions {
  Initializer initial_w = {};                          ///< default: Normal(1)
  std::optional<int64_t> ignore_label = std::nullopt;  ///< ids that give zeros and take no gradient
};

/// A row of W for each id. x: any shape, integers in [0, in_size); returns that shape with an axis of out_size behind.
/// chainer.links.EmbedID.
class KUSARI_API EmbedID : public Link {
 public:
  using Options = EmbedIDOptions;
  EmbedID(int64_t in_size, int64_t out_size, Options options = {});
  /// With the rows of W: (in_size, out_size). Throws ValueError for another number of axes.
  /// chainer.links.EmbedID.from_params.
  static EmbedID from_params(const Array& W, std::optional<int64_t> ignore_label = std::nullopt);
  Variable operator()(const Variable& x) const;
  std::vector<std::pair<std::string, std::string>> printable_specs() const override;

  Parameter W;  ///< (in_size, out_size)
  std::optional<int64_t> ignore_label;
};

}  // namespace kusari::links
