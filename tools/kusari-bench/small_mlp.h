#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/links/connection/linear.h"

namespace bench {

/// The network of the case small_mlp, in which overhead decides.
class SmallMlp : public kusari::Chain {
 public:
  SmallMlp() : l1{*this, "l1", 32, 64}, l2{*this, "l2", 64, 64}, l3{*this, "l3", 64, 8} {}
  kusari::Variable operator()(const kusari::Variable& x) {
    return l3(kusari::functions::relu(l2(kusari::functions::relu(l1(x)))));
  }

 private:
  kusari::Child<kusari::links::Linear> l1, l2, l3;
};

}  // namespace bench
