#pragma once

#include <vector>

#include <kusari/kusari.h>

// GoogLeNet with the loss that it is trained with: two classifiers in its middle, whose losses count 0.3 each, keep the
// gradients of the layers below from vanishing. Szegedy et al. 2014.
class GoogLeNetClassifier : public kusari::Chain {
 public:
  GoogLeNetClassifier() : predictor{*this, "predictor"} {}

  kusari::Variable operator()(const kusari::Variable& x, const kusari::Variable& t) const {
    using namespace kusari;
    const L::Activations h = predictor(x, {"loss1_fc2", "loss2_fc2", "loss3_fc"});
    const Variable loss1 = F::softmax_cross_entropy(h.at("loss1_fc2"), t);
    const Variable loss2 = F::softmax_cross_entropy(h.at("loss2_fc2"), t);
    const Variable loss3 = F::softmax_cross_entropy(h.at("loss3_fc"), t);
    const Variable loss = 0.3 * (loss1 + loss2) + loss3;
    report({{"loss", loss},
            {"loss1", loss1},
            {"loss2", loss2},
            {"loss3", loss3},
            {"accuracy", F::accuracy(h.at("loss3_fc"), t)}},
           *this);
    return loss;
  }

 private:
  kusari::Child<kusari::L::GoogLeNet> predictor;
};
