#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

// Language models: of T words of B texts, (T, B), the scores of the words that come next, (T, B, words). They keep
// their state from call to call; reset_states() begins with new texts.

inline void draw_parameters(kusari::Link& model) {
  for (kusari::Parameter* p : model.params()) kusari::initializers::Uniform(0.1)(p->array());
}

// That of Chainer's example, with its names: two layers of LSTM, with dropout before each layer.
class LstmLm : public kusari::Chain {
 public:
  LstmLm(int64_t words, int64_t units)
      : embed{*this, "embed", words, units},
        l1{*this, "l1", units, units},
        l2{*this, "l2", units, units},
        l3{*this, "l3", units, words} {
    draw_parameters(*this);
  }
  kusari::Variable operator()(const kusari::Variable& ids) {
    namespace F = kusari::F;
    const kusari::Variable h1 = l1.sequence(F::dropout(embed(ids)));
    const kusari::Variable h2 = l2.sequence(F::dropout(h1));
    return l3(F::dropout(h2), 2);
  }

  kusari::Child<kusari::L::EmbedID> embed;
  kusari::Child<kusari::L::LSTM> l1, l2;
  kusari::Child<kusari::L::Linear> l3;
};

// The same of two layers of L::NStepGRU, NStepRNNTanh (Elman 1990) or NStepRNNReLU.
template <class Rnn>
class NStepLm : public kusari::Chain {
 public:
  NStepLm(int64_t words, int64_t units)
      : embed{*this, "embed", words, units}, rnn{*this, "rnn", 2, units, units, 0.5}, out{*this, "out", units, words} {
    draw_parameters(*this);
  }
  kusari::Variable operator()(const kusari::Variable& ids) {
    namespace F = kusari::F;
    const auto [hy, ys] = rnn(h, kusari::PackedSequence::from_times(F::dropout(embed(ids))));
    h = hy;
    const kusari::Variable scores = out(F::dropout(ys.data()));
    return F::reshape(scores, {ids.shape(0), ids.shape(1), scores.shape(1)});
  }

  kusari::Child<kusari::L::EmbedID> embed;
  kusari::Child<Rnn> rnn;
  kusari::Child<kusari::L::Linear> out;
  kusari::State h{*this, "h"};
};

inline const std::vector<std::string> kLayers = {"lstm", "gru", "tanh", "relu"};

// Calls use(model) with the classifier of a model of these layers: the mean loss of all words that come next.
template <class Use>
void with_model(const std::string& layers, int64_t words, int64_t units, const Use& use) {
  using namespace kusari;
  const auto call = [&](auto predictor) {
    auto model =
        L::classifier(std::move(predictor),
                      {.lossfun = [](const Variable& y, const Variable& t) { return F::token_cross_entropy(y, t); },
                       .compute_accuracy = false});
    use(model);
  };
  if (layers == "gru") return call(NStepLm<L::NStepGRU>(words, units));
  if (layers == "tanh") return call(NStepLm<L::NStepRNNTanh>(words, units));
  if (layers == "relu") return call(NStepLm<L::NStepRNNReLU>(words, units));
  call(LstmLm(words, units));
}

// exp of the mean loss of all words of a text, read from its beginning by a copy of the model with a state of its own.
template <class Model>
double perplexity(const Model& model, const kusari::Array& text, int64_t bproplen) {
  using namespace kusari;
  const auto test_mode = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  Model reader = copy(model, CopyMode::share);
  double sum = 0, count = 0;
  for (const auto& batch : iterators::ParallelSequentialIterator(text, 1, {.repeat = false, .window = bproplen})) {
    const auto words = datasets::concat_examples(batch, model.device());
    const auto n = static_cast<double>(words[1].size());
    sum += reader(words[0], words[1]).template item<double>() * n;
    count += n;
  }
  return std::exp(sum / count);
}
