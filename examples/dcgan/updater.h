#pragma once

#include <kusari/kusari.h>

#include "kusari/examples/dcgan/net.h"

// One step of the discriminator, and one of the generator. Radford et al. 2016.
class DcganUpdater : public kusari::updaters::StandardUpdater {
 public:
  DcganUpdater(kusari::iterators::IteratorRef iterator, Generator& gen, Discriminator& dis,
               kusari::Optimizer& gen_optimizer, kusari::Optimizer& dis_optimizer, const kusari::Device& device)
      : StandardUpdater({{"main", iterator}}, {{"gen", gen_optimizer}, {"dis", dis_optimizer}}, {.device = device}),
        gen_{gen},
        dis_{dis} {}

 protected:
  void update_core() override {
    using namespace kusari;
    const Variable x_real = next_inputs()[0] / 255.0;
    const int64_t n = x_real.shape(0);
    const Variable z = gen_.make_hidden(n);
    const Variable x_fake = [&] {
      const auto no_graph = no_backprop_mode();
      return gen_(z);
    }();
    get_optimizer("dis").update([&] {
      const auto loss = F::mean(F::softplus(-dis_(x_real))) + F::mean(F::softplus(dis_(x_fake)));
      report({{"loss", loss}}, dis_);
      return loss;
    });
    get_optimizer("gen").update([&] {
      const auto loss = F::mean(F::softplus(-dis_(gen_(z))));
      report({{"loss", loss}}, gen_);
      return loss;
    });
  }

 private:
  Generator& gen_;
  Discriminator& dis_;
};
