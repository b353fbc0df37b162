#pragma once

#include <cstdint>

#include <kusari/kusari.h>

// Network definition
class Mlp : public kusari::Chain {
 public:
  Mlp(int64_t n_units, int64_t n_out)
      // the size of the inputs to the first layer will be inferred
      : l1{*this, "l1", kusari::kInfer, n_units},  // n_in -> n_units
        l2{*this, "l2", n_units, n_units},         // n_units -> n_units
        l3{*this, "l3", n_units, n_out} {}         // n_units -> n_out

  kusari::Variable operator()(const kusari::Variable& x) const {
    const auto h1 = kusari::F::relu(l1(x));
    const auto h2 = kusari::F::relu(l2(h1));
    return l3(h2);
  }

 private:
  kusari::Child<kusari::L::Linear> l1, l2, l3;
};
