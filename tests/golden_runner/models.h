#pragma once

#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/pooling/max_pooling_nd.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/embed_id.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/framework/links/rnn/lstm.h"
#include "kusari/framework/links/rnn/n_step_lstm.h"
#include "kusari/framework/links/sequential.h"

// The models of the snapshots, as the cases describe them.
namespace kusari::golden {

class Mlp : public Chain {
 public:
  Mlp() : l1{*this, "l1", 4, 5}, l2{*this, "l2", 5, 5}, l3{*this, "l3", 5, 3} {}
  Variable operator()(const Variable& x) { return l3(functions::relu(l2(functions::relu(l1(x))))); }

 private:
  Child<L::Linear> l1, l2, l3;
};

class Nested : public Chain {
 public:
  Nested()
      : body{*this, "body", L::Linear(4, 3), functions::relu, L::Linear(3, 3)},
        heads{*this, "heads"},
        scale{*this, "scale", {2}, 1},
        counter{*this, "counter", 0},
        table{*this, "table", zeros({4})} {
    heads.append(L::Linear(3, 2));
    heads.append(L::Linear(3, 2));
  }
  Variable operator()(const Variable& x) {
    const Variable h = body(x);
    return (heads[0](h) + heads[1](h)) * scale;
  }

 private:
  Child<Sequential> body;
  Child<ChainList<L::Linear>> heads;
  Parameter scale;
  PersistentScalar<int64_t> counter;
  Persistent table;
};

class CnnBn : public Chain {
 public:
  CnnBn()
      : conv1{*this, "conv1", 1, 2, 3, {.pad = 1, .nobias = true}},
        bn1{*this, "bn1", 2},
        conv2{*this, "conv2", 2, 3, 3},
        bn2{*this, "bn2", 3, {.use_gamma = false}},
        fc{*this, "fc", kInfer, 3} {}
  Variable operator()(const Variable& x) {
    return fc(bn2.relu(conv2(functions::max_pooling_2d(bn1.relu(conv1(x)), 2))));
  }

 private:
  Child<L::Convolution2D> conv1;
  Child<L::BatchNormalization> bn1;
  Child<L::Convolution2D> conv2;
  Child<L::BatchNormalization> bn2;
  Child<L::Linear> fc;
};

/// One step of a sequence for each call.
class LstmChain : public Chain {
 public:
  LstmChain() : embed{*this, "embed", 6, 3}, lstm{*this, "lstm", 3, 4}, fc{*this, "fc", 4, 6} {}
  Variable operator()(const Variable& x) { return fc(lstm(embed(x))); }

 private:
  Child<L::EmbedID> embed;
  Child<L::LSTM> lstm;
  Child<L::Linear> fc;
};

}  // namespace kusari::golden
