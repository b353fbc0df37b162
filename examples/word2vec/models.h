#pragma once

#include <cstdint>
#include <utility>

#include <kusari/kusari.h>

// The words' vectors and the loss that teaches them are what the models have in common. `loss` takes vectors (n,
// n_units) and the words (n) that they should tell.
class WordModel : public kusari::Chain {
 public:
  WordModel(int64_t n_vocab, int64_t n_units, kusari::AnyLink loss)
      : embed{*this,
              "embed",
              n_vocab,
              n_units,
              {.initial_w = kusari::initializers::Uniform(1. / static_cast<double>(n_units))}},
        loss_func{*this, "loss_func", std::move(loss)} {}

  kusari::Child<kusari::L::EmbedID> embed;
  kusari::Child<kusari::AnyLink> loss_func;

 protected:
  kusari::Variable reported(const kusari::Variable& loss) const {
    kusari::report({{"loss", loss}}, *this);
    return loss;
  }
};

// Continuous bag of words: the mean of the words around tells the word in the middle.
class ContinuousBoW : public WordModel {
 public:
  using WordModel::WordModel;

  kusari::Variable operator()(const kusari::Variable& x, const kusari::Variable& contexts) const {
    const auto e = embed(contexts);  // (batch, words around, n_units)
    const auto h = kusari::F::sum(e, 1) * (1. / static_cast<double>(contexts.shape(1)));
    return reported(loss_func(h, x));
  }
};

// Skip-gram: each of the words around tells the word in the middle.
class SkipGram : public WordModel {
 public:
  using WordModel::WordModel;

  kusari::Variable operator()(const kusari::Variable& x, const kusari::Variable& contexts) const {
    using namespace kusari;
    const auto e = embed(contexts);  // (batch, words around, n_units)
    const int64_t n = contexts.size();
    const auto words = F::broadcast_to(F::expand_dims(x, 1), contexts.shape());
    return reported(loss_func(F::reshape(e, {n, e.shape(2)}), F::reshape(words, {n})));
  }
};

// All words compete, without approximation.
class SoftmaxCrossEntropyLoss : public kusari::Chain {
 public:
  SoftmaxCrossEntropyLoss(int64_t n_in, int64_t n_out) : out{*this, "out", n_in, n_out, {.initial_w = 0}} {}

  kusari::Variable operator()(const kusari::Variable& x, const kusari::Variable& t) const {
    return kusari::F::softmax_cross_entropy(out(x), t);
  }

 private:
  kusari::Child<kusari::L::Linear> out;
};
