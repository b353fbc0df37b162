#pragma once

#include <kusari/kusari.h>

#include "kusari/examples/pix2pix/net.h"

// One step of the discriminator, and one of the U-net's halves together.
class FacadeUpdater : public kusari::updaters::StandardUpdater {
 public:
  struct Models {
    Encoder& enc;
    Decoder& dec;
    Discriminator& dis;
  };

  FacadeUpdater(kusari::iterators::IteratorRef iterator, const Models& models, NamedOptimizers optimizers,
                const kusari::Device& device)
      : StandardUpdater({{"main", iterator}}, std::move(optimizers), {.device = device}), models_{models} {}

 protected:
  void update_core() override {
    using namespace kusari;
    const auto batch = next_inputs();
    const Variable plan = batch[0], picture = batch[1];
    const Variable drawn = models_.dec(models_.enc(plan));

    get_optimizer("dis").update([&] {
      const Variable loss = F::mean(F::softplus(-models_.dis(plan, picture))) +
                            F::mean(F::softplus(models_.dis(plan, drawn.array())));  // without the U-net's graph
      report({{"loss", loss}}, models_.dis);
      return loss;
    });

    // The two halves have one loss: near to the picture, and taken for one.
    const Variable loss =
        100 * F::mean_absolute_error(drawn, picture) + F::mean(F::softplus(-models_.dis(plan, drawn)));
    models_.enc.cleargrads();
    models_.dec.cleargrads();
    loss.backward();
    get_optimizer("enc").update();
    get_optimizer("dec").update();
    report({{"loss", loss}}, models_.enc);
    report({{"loss", loss}}, models_.dec);
  }

 private:
  Models models_;
};
