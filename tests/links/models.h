#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

// Models that the tests of links and optimizers share.
namespace kusari::testing {

/// Two affine maps: /l1/W, /l1/b, /l2/W.
class TwoLayers : public Chain {
 public:
  explicit TwoLayers(int64_t in_size = kInfer, int64_t units = 3)
      : l1{*this, "l1", in_size, units}, l2{*this, "l2", units, 2, {.nobias = true}} {}
  Variable operator()(const Variable& x) { return l2(l1(x)); }

  Child<L::Linear> l1, l2;
};

/// All kinds of members, declared in an order that is not the one of their names.
class Everything : public Chain {
 public:
  Everything()
      : w{*this, "w", {2, 2}, 1.5},
        a{*this, "a", {3}, 0.5},
        mean{*this, "mean", zeros({2})},
        count{*this, "N", 7},
        rate{*this, "rate", 0.25},
        body{*this, "body", 2} {}

  Parameter w, a;
  Persistent mean;
  PersistentScalar<int64_t> count;
  PersistentScalar<double> rate;
  Child<TwoLayers> body;
};

inline std::vector<std::string> paths(Link& link) {
  std::vector<std::string> names;
  for (const auto& [path, parameter] : link.namedparams()) names.push_back(path);
  return names;
}

}  // namespace kusari::testing
