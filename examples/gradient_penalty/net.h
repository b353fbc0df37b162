#pragma once

#include <cstdint>

#include <kusari/kusari.h>

// Three hidden layers, for the generator, which makes points of random numbers, and for the critic, which scores
// points.
class Mlp : public kusari::Chain {
 public:
  Mlp(int64_t n_in, int64_t n_units, int64_t n_out)
      : l0{*this, "l0", n_in, n_units, {.initial_w = kusari::initializers::HeNormal()}},
        l1{*this, "l1", n_units, n_units, {.initial_w = kusari::initializers::HeNormal()}},
        l2{*this, "l2", n_units, n_units, {.initial_w = kusari::initializers::HeNormal()}},
        l3{*this, "l3", n_units, n_out} {}

  kusari::Variable operator()(const kusari::Variable& x) const {
    using namespace kusari;
    return l3(F::relu(l2(F::relu(l1(F::relu(l0(x)))))));
  }

 private:
  kusari::Child<kusari::L::Linear> l0, l1, l2, l3;
};
