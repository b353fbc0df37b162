#pragma once

#include <optional>
#include <vector>

#include "kusari/framework/static_graph/passes/dependencies.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// Constants with which results are computed in steps of the scale by which they are rounded then: rounding needs no
/// division, as that scale becomes 1. It is
/// positive, as scales are: a ReLU may come before the division or behind it.
class StepsOfResults {
 public:
  explicit StepsOfResults(Program& program, const Dependencies& dependencies)
      : program_{program}, dependencies_{dependencies} {}

  /// Whether numbers are the same at every replay, in float32; also undefined ones.
  bool is_fixed(const View& numbers) const;
  /// numbers / scale, of which there is one. Both are fixed.
  View divided(const View& numbers, const View& scale, const Device& device);
  /// The number 1.
  View one(const Device& device);
  /// Puts the steps that compute these behind the program's other constants.
  void insert();

 private:
  View constant(const Shape& shape, const Device& device);

  Program& program_;
  const Dependencies& dependencies_;
  std::optional<View> one_;
  std::vector<Step> steps_;
};

}  // namespace kusari::graphs
