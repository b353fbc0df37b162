#pragma once

#include <cstdint>
#include <utility>

#include <kusari/kusari.h>

// Three networks that tell digits apart, (n, 784): one of few long kernels, one of images, and one of very many short
// kernels.

class Mlp : public kusari::Chain {
 public:
  explicit Mlp(int64_t unit) : l1{*this, "l1", 784, unit}, l2{*this, "l2", unit, unit}, l3{*this, "l3", unit, 10} {}

  kusari::Variable operator()(const kusari::Variable& x) const {
    return l3(kusari::F::relu(l2(kusari::F::relu(l1(x)))));
  }

 private:
  kusari::Child<kusari::L::Linear> l1, l2, l3;
};

class Cnn : public kusari::Chain {
 public:
  explicit Cnn(int64_t unit)
      : conv1{*this, "conv1", 1, unit, 3, {.pad = 1, .nobias = true}},
        bn1{*this, "bn1", unit},
        conv2{*this, "conv2", unit, unit, 3, {.pad = 1, .nobias = true}},
        bn2{*this, "bn2", unit},
        fc{*this, "fc", unit, 10} {}

  kusari::Variable operator()(const kusari::Variable& x) const {
    using namespace kusari;
    Variable h = F::max_pooling_2d(bn1.relu(conv1(F::reshape(x, {x.shape(0), 1, 28, 28}))), 2);
    h = F::max_pooling_2d(bn2.relu(conv2(h)), 2);
    return fc(F::global_average_pooling_2d(h));
  }

 private:
  kusari::Child<kusari::L::Convolution2D> conv1;
  kusari::Child<kusari::L::BatchNormalization> bn1;
  kusari::Child<kusari::L::Convolution2D> conv2;
  kusari::Child<kusari::L::BatchNormalization> bn2;
  kusari::Child<kusari::L::Linear> fc;
};

// Reads a digit row by row. A replay starts from the same state each time, so the state is made in the call.
class Rows : public kusari::Chain {
 public:
  explicit Rows(int64_t unit) : lstm{*this, "lstm", 28, unit}, fc{*this, "fc", unit, 10} {}

  kusari::Variable operator()(const kusari::Variable& x) const {
    using namespace kusari;
    const auto rows = F::separate(F::reshape(x, {x.shape(0), 28, 28}), 1);
    F::CellOutput state;
    for (const Variable& row : rows) state = lstm(state.c, state.h, row);
    return fc(state.h);
  }

 private:
  kusari::Child<kusari::L::StatelessLSTM> lstm;
  kusari::Child<kusari::L::Linear> fc;
};

// A network that counts: `calls` of its C++ code, which a replay leaves out, and `runs` of what static_code holds,
// which happens at its place in each replay.
template <class Net>
class Counted : public kusari::Chain {
 public:
  explicit Counted(Net network) : net{*this, "net", std::move(network)} {}

  kusari::Variable operator()(const kusari::Variable& x) {
    ++calls;
    kusari::static_code([this] { ++runs; });
    return net(x);
  }

  int64_t calls = 0, runs = 0;

 private:
  kusari::Child<Net> net;
};
