#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kusari/kusari.h"

// The models whose files are exchanged. chainer_side.py has the same ones.
namespace kusari::exchange {

/// A perceptron whose first layer takes its size from the data.
class Mlp : public Chain {
 public:
  Variable operator()(const Variable& x) { return l3(F::relu(l2(F::relu(l1(x))))); }

 private:
  Child<L::Linear> l1{*this, "l1", kInfer, 20};
  Child<L::Linear> l2{*this, "l2", 20, 20};
  Child<L::Linear> l3{*this, "l3", kInfer, 5};
};

/// Convolutions, normalizations and persistent values of each type.
class Cnn : public Chain {
 public:
  Variable operator()(const Variable& x) {
    const Array mean = functions::average(x, {.axis = {0, 2, 3}}).array();
    if (config().train) {
      colour = mean;
      seen = seen + x.shape()[0];
      rate = rate * 0.5;
      is_trained = true;
      note = "seen " + std::to_string(seen);
    }
    const Variable h = F::relu(bn1(conv(x)));
    const Variable down = F::dropout(prelu(gn(depthwise(h))), 0.3);
    return scale(brn(deconv(down)));
  }
  Variable loss(const Variable& x) { return F::mean((*this)(x)*x); }

 private:
  Child<L::Convolution2D> conv{*this, "conv", kInfer, 6, 3, {.stride = 2, .pad = 1}};
  Child<L::BatchNormalization> bn1{*this, "bn1", 6};
  Child<L::DepthwiseConvolution2D> depthwise{*this, "depthwise", kInfer, 2, 3, {.pad = 1}};
  Child<L::GroupNormalization> gn{*this, "gn", 3};
  Child<L::PReLU> prelu{*this, "prelu", L::PReLUOptions{.shape = {12}}};
  Child<L::Deconvolution2D> deconv{*this, "deconv", kInfer, 3, 4, {.stride = 2, .pad = 1, .nobias = true}};
  Child<L::BatchRenormalization> brn{*this, "brn", 3, {.rmax = 2, .dmax = 1}};
  Child<L::Scale> scale{*this, "scale", L::ScaleOptions{.w_shape = Shape{3}, .bias_term = true}};
  Persistent colour{*this, "colour", zeros({3}, get_dtype())};
  PersistentScalar<int64_t> seen{*this, "seen", 0};
  PersistentScalar<double> rate{*this, "rate", 1};
  PersistentScalar<bool> is_trained{*this, "is_trained", false};
  PersistentScalar<std::string> note{*this, "note", "new"};
};

/// Scores the labels of sequences of words and, from the last state, a word.
class Tagger : public Chain {
 public:
  struct Scores {
    std::vector<Variable> labels;  // (N, 5) for each position
    Variable last;                 // (N, 8)
  };

  Scores operator()(const Variable& ids) {
    Scores scores;
    Variable before;
    for (int64_t i = 0; i < ids.shape()[1]; ++i) {
      const Variable h = highway(norm(embed(F::get_item(ids, {Slice(), i}))));
      before = before.is_defined() ? before : h;
      scores.labels.push_back(bilinear(h, before) + maxout(h) + tail(before));
      before = h;
    }
    scores.last = before;
    return scores;
  }
  Variable loss(const Variable& ids, const std::vector<Variable>& labels, const Variable& word) {
    const Scores scores = (*this)(ids);
    return crf(scores.labels, labels) + softmax(scores.last, word);
  }

  Child<L::CRF1d> crf{*this, "crf", 5};
  Child<L::BinaryHierarchicalSoftmax> softmax{
      *this, "softmax", 8,
      L::BinaryHierarchicalSoftmax::create_huffman_tree({{0, 5}, {1, 2}, {2, 2}, {3, 7}, {4, 1}, {5, 3}})};

 private:
  Child<L::EmbedID> embed{*this, "embed", 11, 8};
  Child<L::LayerNormalization> norm{*this, "norm"};
  Child<L::Highway> highway{*this, "highway", 8};
  Child<L::Bilinear> bilinear{*this, "bilinear", 8, 8, 5};
  Child<L::Maxout> maxout{*this, "maxout", kInfer, 5, 3};
  Child<Sequential> tail{*this, "tail", L::Linear(kInfer, 7), F::tanh, L::Linear(7, 5)};
};

}  // namespace kusari::exchange
