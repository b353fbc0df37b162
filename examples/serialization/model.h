#pragma once

#include <cstdint>

#include <kusari/kusari.h>

class Mlp : public kusari::Chain {
 public:
  Mlp(int64_t n_in, int64_t n_units, int64_t n_out)
      : l1{*this, "l1", n_in, n_units}, l2{*this, "l2", n_units, n_units}, l3{*this, "l3", n_units, n_out} {}

  kusari::Variable operator()(const kusari::Variable& x) const {
    return l3(kusari::F::relu(l2(kusari::F::relu(l1(x)))));
  }

 private:
  kusari::Child<kusari::L::Linear> l1, l2, l3;
};
